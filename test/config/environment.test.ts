import t from 'tap'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { variables } from '../../lib/config/environment.ts'
import { directory, ids, lines, load, provider } from '../support/config.ts'

const root = new URL('../../../', import.meta.url)

t.test('variables override the file, and the environment overrides .env', async t => {
  const cwd = directory(t, {
    'headgate.yaml':
      'dashboard: false\nserver:\n  port: 1\n  host: a.example\n  log_level: warn\n  public_health: true\n',
    '.env': 'PORT=2\nHOST=b.example\nHEADGATE_WORKERS=auto\nOPENAI_API_KEY=from-dotenv\n'
  })
  const env = {
    PORT: '3',
    HEADGATE_DATA_DIR: '../data',
    HEADGATE_LOG_LEVEL: '',
    HEADGATE_API_KEYS: ' one-of-sixteen-characters, two words of more than sixteen ,,'
  }
  const settings = loadSettings({ env, cwd })
  t.match(settings.server, {
    port: 3,
    host: 'b.example',
    workers: availableParallelism(),
    logLevel: 'warn',
    dataDir: join(cwd, '../data'),
    publicHealth: true
  })
  t.same(
    settings.keys.map(({ name, key }) => [name, key.reveal()]),
    [
      ['environment-622b54c2f30d', 'one-of-sixteen-characters'],
      ['environment-2981e579e3f1', 'two words of more than sixteen']
    ]
  )
  t.equal(provider(settings, 'openai').apiKey?.reveal(), 'from-dotenv')
  t.same(ids(loadSettings({ env: { OPENAI_API_KEY: '' }, cwd })), ['sandbox'],
    'an empty variable disables what .env enables')
})

t.test('.env.example lists exactly the variables that are read, and those for several machines', async t => {
  const example = readFileSync(new URL('.env.example', root), 'utf8')
  const listed = [...example.matchAll(/^([A-Z_]+)=(.*)$/gm)]
  t.same(
    listed.map(([, name]) => name ?? '').toSorted(),
    [...variables, 'DATABASE_URL', 'REDIS_URL'].toSorted()
  )
  t.ok(
    listed.every(([, , value]) => value === ''),
    'unedited, it sets nothing'
  )
})

t.test('a collector address enables traces, a protocol or sampler does not', async t => {
  const address = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }
  const defaults = {
    endpoint: 'http://localhost:4318',
    protocol: 'http/protobuf',
    headers: {},
    sampler: 'parentbased_traceidratio',
    sample: 1,
    traces: true,
    metrics: false,
    metricsIntervalMs: 60_000,
    logs: false,
    openinference: false,
    maxQueuedLogs: 8192,
    maxQueuedSpans: 8192
  }
  const maxSampledPerSecond = 100
  t.same(
    load(t, '', {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER: 'always_on',
      OTEL_TRACES_SAMPLER_ARG: '1'
    }).telemetry,
    { maxSampledPerSecond }
  )
  t.same(load(t, 'telemetry: {otlp: {}}').telemetry, { otlp: defaults, maxSampledPerSecond })
  t.same(load(t, '', address).telemetry, {
    otlp: { ...defaults, endpoint: 'http://collector:4318' },
    maxSampledPerSecond
  })
  t.match(load(t, '', { ...address, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }).telemetry, {
    otlp: { protocol: 'http/json' }
  })
  t.match(
    load(t, '', { ...address, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.5' })
      .telemetry,
    { otlp: { sampler: 'traceidratio', sample: 0.5 } }
  )
  const switches = {
    OTEL_TRACES_EXPORTER: 'none',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_METRIC_EXPORT_INTERVAL: '5000'
  }
  t.match(load(t, '', { ...address, ...switches }).telemetry, {
    otlp: { traces: false, metrics: true, logs: true, metricsIntervalMs: 5000 }
  })
  t.match(lines(t, '', { ...address, OTEL_METRICS_EXPORTER: 'prometheus' }), [
    /OTEL_METRICS_EXPORTER.*true or false/
  ])
  t.match(lines(t, '', { ...address, OTEL_TRACES_SAMPLER: 'jaeger_remote' }), [
    /OTEL_TRACES_SAMPLER.*always_on/
  ])
  t.match(lines(t, '', { ...address, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), [
    /OTEL_EXPORTER_OTLP_PROTOCOL.*http\/protobuf/
  ])
})
