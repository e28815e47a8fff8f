import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { CallMetrics } from '../../lib/telemetry/call-metrics.ts'
import { printFamilies } from '../../lib/telemetry/metric-families.ts'
import { createLog } from '../../lib/log/log.ts'
import { Metrics } from '../../lib/telemetry/metrics.ts'
import { serveMetrics, type MetricsServer } from '../../lib/process/metrics-server.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { modelSettings, settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { chatAnswer, chatFrames, eventStream, fakeUpstream, type Script } from '../support/upstream.ts'
import type { ApiKey } from '../../lib/core/key.ts'
import type { GuardSettings, Settings } from '../../lib/core/settings.ts'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'

interface Measured extends TestGateway {
  readonly server: MetricsServer
  readonly url: string
  /** Reads the metrics page as Prometheus does. */
  readonly scrape: () => Promise<string>
}

/** A gateway with a readable metrics page. */
async function measured (
  t: Test,
  parts: Partial<Settings> = {},
  keys: Readonly<Record<string, ApiKey>> = {}
): Promise<Measured> {
  const metrics = new Metrics(() => api.gateway)
  const api: TestGateway = await testGateway(t, parts, keys, { observers: [metrics.observe] })
  const server = await serveMetrics(
    { host: '127.0.0.1', port: 0 },
    () => metrics.families(),
    createLog('silent')
  )
  t.teardown(server.close)
  const url = `http://127.0.0.1:${server.address.port}`
  return { ...api, server, url, scrape: async () => await (await fetch(`${url}/metrics`)).text() }
}

/** Every value by its series; fails unless the text is valid for Prometheus. */
function valuesIn (t: Test, text: string): Map<string, number> {
  const values = new Map<string, number>()
  for (const line of text.split('\n').filter(line => line !== '' && !line.startsWith('# '))) {
    const [, series = '', value = ''] =
      /^([a-z_0-9]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\})?) (\S+)$/.exec(line) ?? []
    if (series === '' || !Number.isFinite(Number(value)) || values.has(series)) t.fail(line)
    values.set(series, Number(value))
  }
  return values
}

/** The sum of all series of a name with these labels. */
function sum (values: ReadonlyMap<string, number>, name: string, ...labels: readonly string[]): number {
  return [...values]
    .filter(
      ([series]) =>
        new RegExp(`^${name}(\\{|$)`).test(series) && labels.every(label => series.includes(label))
    )
    .reduce((total, [, value]) => total + value, 0)
}

const complete: Script = { pieces: [chatAnswer('hello')] }
const streamed: Script = { headers: eventStream, pieces: chatFrames(['a', 'b']) }
const hello = [{ role: 'user', content: 'hello' }]
const priced = modelSettings('openai/gpt-5', { price: { input: 1_000_000, output: 2_000_000 } })

t.test('every call is counted once, by outcome', async t => {
  const upstream = await fakeUpstream(({ json }, number) => {
    if (number === 0) return complete
    if (number === 1) return streamed
    return (json as { stream?: boolean }).stream === true
      ? { ...streamed, pieces: chatFrames(['a']).slice(0, 2), then: 'stall' }
      : { status: 400, pieces: ['{}'] }
  })
  t.teardown(upstream.close)
  const api = await measured(t, { providers: [upstreamAt(`${upstream.url}/v1`)], models: [priced] })
  const ask = async (more: object, init: RequestInit = {}): Promise<Response> => (
    await api.post('/v1/chat/completions', { model: 'openai/gpt-5', messages: hello, ...more }, init)
  )
  await (await ask({})).text()
  await (await ask({ stream: true })).text()
  t.equal((await ask({})).status, 400)
  await until(() => api.lines.length === 3, 'three lines in the log')
  const leaving = new AbortController()
  const { body } = await ask({ stream: true }, { signal: leaving.signal })
  await body?.getReader().read()
  const open = valuesIn(t, await api.scrape())
  t.equal(open.get('headgate_open_calls'), 1)
  t.ok((open.get('headgate_upstream_connections{provider="openai"}') ?? 0) > 0)
  t.equal(open.get('headgate_upstream_waiting{provider="openai"}'), 0)
  t.equal(open.get('headgate_upstream_refused_total{provider="openai"}'), 0)
  leaving.abort()
  await until(() => api.lines.length === 4, 'four lines in the log')

  const values = valuesIn(t, await api.scrape())
  const of = (outcome: string): string =>
    `{endpoint="chat",model="openai/gpt-5",provider="openai",outcome="${outcome}"`
  t.equal(sum(values, 'headgate_calls_total'), 4)
  t.equal(values.get(`headgate_calls_total${of('ok')},status="200"}`), 2)
  t.equal(values.get(`headgate_calls_total${of('error')},status="400"}`), 1)
  t.equal(values.get(`headgate_calls_total${of('client_closed')},status="499"}`), 1, 'a caller who left')
  t.equal(values.get('headgate_open_calls'), 0)
  t.equal(values.get(`headgate_tokens_total${of('ok')},direction="input"}`), 6)
  t.equal(values.get(`headgate_tokens_total${of('ok')},direction="output"}`), 3)
  t.equal(values.get(`headgate_cost_usd_total${of('ok')}}`), 12)
  t.equal(sum(values, 'headgate_attempts_total'), 4)
  t.equal(sum(values, 'headgate_retries_total') + sum(values, 'headgate_fallbacks_total'), 0)
  t.equal(values.get(`headgate_call_duration_seconds_count${of('ok')}}`), 2)
  t.equal(values.get(`headgate_call_duration_seconds_bucket${of('ok')},le="+Inf"}`), 2)
  t.equal(
    values.get(`headgate_first_byte_seconds_count${of('ok')}}`),
    1,
    'only streams begin before they end'
  )
  t.equal(values.get('headgate_overhead_seconds_count{endpoint="chat"}'), 4)
  t.ok(sum(values, 'process_resident_memory_bytes') > 1e6)
  t.ok(sum(values, 'process_cpu_seconds_total') > 0)
  t.equal(values.get('headgate_ledger_rows_waiting'), 0)
})

t.test('failed attempts are counted by model and reason, with the model that succeeded instead', async t => {
  const upstream = await fakeUpstream(({ json }) =>
    (json as { model: string }).model === 'bad' ? { status: 500, pieces: ['{}'] } : complete
  )
  t.teardown(upstream.close)
  const api = await measured(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { retries: 1 })],
    routes: [{ name: 'both', models: ['openai/bad', 'openai/gpt-5'] }]
  })
  t.equal((await api.post('/v1/chat/completions', { model: 'openai/bad', messages: hello })).status, 502)
  for (let call = 0; call < 4; call++) {
    t.equal((await api.post('/v1/chat/completions', { model: 'both', messages: hello })).status, 200)
  }
  await until(() => api.lines.length === 5, 'five lines in the log')
  const values = valuesIn(t, await api.scrape())
  const bad = 'model="openai/bad",provider="openai",reason'
  t.equal(sum(values, 'headgate_failed_attempts_total', `${bad}="upstream_error"`), 5)
  t.equal(sum(values, 'headgate_failed_attempts_total', `${bad}="circuit_open"`), 1)
  t.equal(sum(values, 'headgate_retries_total', 'model="openai/bad"'), 1)
  t.equal(sum(values, 'headgate_fallbacks_total', 'model="openai/gpt-5"'), 4)
  t.equal(
    sum(values, 'headgate_attempts_total', 'model="openai/bad",provider="openai",outcome="upstream_error"'),
    5
  )
  t.equal(sum(values, 'headgate_attempts_total', 'model="openai/gpt-5",provider="openai",outcome="ok"'), 4)
  t.equal(sum(values, 'headgate_attempts_total'), 9)
  t.equal(values.get('headgate_circuit_open{model="openai/bad"}'), 1)
})

t.test('unfinished calls of a guard module count as open, even after the module is removed', async t => {
  const upstream = await fakeUpstream(() => complete)
  t.teardown(upstream.close)
  const directory = t.testdir({
    'answers.mjs': 'export default { request: async texts => texts, answerStage: source => source }',
    'hangs.mjs': 'export default { request: () => new Promise(() => {}) }'
  })
  const stage = (name: string): GuardSettings => ({
    name, use: join(directory, `${name}.mjs`), at: ['request'], timeoutMs: 30, whenUnavailable: 'pass'
  })
  const parts = {
    providers: [upstreamAt(`${upstream.url}/v1`)],
    guards: [stage('answers'), stage('hangs')]
  }
  const api = await measured(t, parts)
  for (let call = 0; call < 2; call++) {
    const body = { model: 'openai/gpt-5', messages: hello }
    t.equal((await api.post('/v1/chat/completions', body)).status, 200)
  }
  await until(() => api.lines.filter(({ msg }) => msg === 'call').length === 2, 'two calls in the log')
  const values = valuesIn(t, await api.scrape())
  t.equal(values.get('headgate_stage_open{stage="answers"}'), 0)
  t.equal(values.get('headgate_stage_open{stage="hangs"}'), 2)
  await api.gateway.reload(settings({ ...parts, guards: [] }))
  const later = valuesIn(t, await api.scrape())
  t.equal(later.get('headgate_stage_open{stage="answers"}'), undefined)
  t.equal(later.get('headgate_stage_open{stage="hangs"}'), 2)
})

t.test('findings and inspections of guards are counted by configured names only', async t => {
  const upstream = await fakeUpstream(() => complete)
  t.teardown(upstream.close)
  const directory = t.testdir({
    'hangs.mjs': 'export default { request: () => new Promise(() => {}) }'
  })
  const api = await measured(t, {
    providers: [upstreamAt(`${upstream.url}/v1`)],
    guards: [
      { name: 'mail', use: 'pattern', at: ['request'], action: 'mask', patterns: ['email'] },
      {
        name: 'hangs',
        use: join(directory, 'hangs.mjs'),
        at: ['request'],
        timeoutMs: 30,
        whenUnavailable: 'pass'
      }
    ]
  })
  for (const content of ['ada@example.com', 'bob@example.com and eve@example.com', 'nobody']) {
    const body = { model: 'openai/gpt-5', messages: [{ role: 'user', content }] }
    t.equal((await api.post('/v1/chat/completions', body)).status, 200)
  }
  await until(() => api.lines.filter(({ msg }) => msg === 'call').length === 3, 'three calls in the log')
  const values = valuesIn(t, await api.scrape())
  const mail = 'stage="mail",point="request"'
  const hangs = 'stage="hangs",point="request"'
  const countsOf = (name: string): Array<[string, number]> =>
    [...values].filter(([series]) => series.startsWith(`${name}{`))
  t.strictSame(new Map(countsOf('headgate_stage_findings_total')), new Map([
    [`headgate_stage_findings_total{${mail},action="mask"}`, 3],
    [`headgate_stage_findings_total{${hangs},action="unavailable"}`, 3]
  ]))
  for (const name of ['headgate_stage_inspections_total', 'headgate_stage_seconds_total']) {
    const counts = countsOf(name)
    t.strictSame(
      new Set(counts.map(([series]) => series)),
      new Set([`${name}{${mail}}`, `${name}{${hangs}}`])
    )
    t.ok(counts.every(([, value]) => value > 0), name)
  }
})

t.test('names made up by callers are never labels, and no label identifies a caller', async t => {
  const upstream = await fakeUpstream(complete)
  t.teardown(upstream.close)
  const limited: ApiKey = { id: 'canary-id', name: 'canary-name', limits: { requestsPerMinute: 1 } }
  const api = await measured(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`)],
      models: [modelSettings('openai/a "b"\\\n')]
    },
    { 'canary-key': limited }
  )
  const ask = async (model: string, key = testKey): Promise<number> =>
    (
      await api.post(
        '/v1/chat/completions',
        { model, messages: hello, user: 'canary-user' },
        { headers: { authorization: `Bearer ${key}` } }
      )
    ).status
  for (const name of ['openai/canary-1', 'openai/canary-2', 'openai/canary-2']) t.equal(await ask(name), 200)
  t.equal(await ask('canary-3'), 404)
  t.equal(await ask('openai/gpt-5', 'canary-wrong'), 401)
  t.equal(await ask('openai/gpt-5', 'canary-key'), 200)
  t.equal(await ask('openai/gpt-5', 'canary-key'), 429)
  t.equal(await ask('openai/a "b"\\\n'), 200)
  await api.get('/canary-path')
  await until(() => api.lines.length === 9, 'nine lines in the log')
  const text = await api.scrape()
  t.notMatch(text, /canary|My API Key|key-1/)
  const values = valuesIn(t, text)
  t.equal(sum(values, 'headgate_calls_total', 'model="other"', 'provider="openai"'), 3)
  t.equal(sum(values, 'headgate_calls_total', 'model="openai/a \\"b\\"\\\\\\n"'), 1)
  t.equal(sum(values, 'headgate_calls_total', 'endpoint="none"', 'status="404"'), 1)
  t.equal(values.get('headgate_limits_refused_total{limit="requests"}'), 1)
  t.equal(
    sum(values, 'headgate_unauthorized_total', 'reason="invalid_api_key"'),
    sum(values, 'headgate_calls_total', 'status="401"')
  )
})

t.test('the number of label values is limited', t => {
  const metrics = new CallMetrics(
    () => true,
    () => undefined,
    2
  )
  const count = (more: RecordParts): void =>
    metrics.observe({
      record: fillRecord(new CallRecord('chat'), { routing: { providerId: 'p' } }, more),
      receivedAtMs: 0
    })
  const route = (modelId: string) => ({ modelId, providerId: 'p', model: modelId })
  for (let model = 0; model < 9; model++) {
    count({
      routing: {
        modelId: `p/${model}`,
        unusedRoutes: [{ route: route(`q/${model}`), reason: 'rate_limited' }]
      }
    })
    count({ routing: { modelId: 'p/0' } })
  }
  count({ routing: { modelId: 'p/9' }, end: { outcome: 'error' } })
  const values = valuesIn(t, printFamilies(metrics.families()))
  t.same(
    [...values]
      .filter(([series]) => series.startsWith('headgate_calls_total'))
      .map(([series, value]) => [/model="(.*?)"/.exec(series)?.[1], value]),
    [
      ['p/0', 10],
      ['p/1', 1],
      ['other', 7],
      ['other', 1]
    ]
  )
  t.equal(sum(values, 'headgate_failed_attempts_total', 'model="q/'), 2)
  t.equal(sum(values, 'headgate_failed_attempts_total', 'model="other",provider="other"'), 7)
  t.end()
})
