import { providerLabels } from '../../schemas/providers.ts'
import t from 'tap'
import { join } from 'node:path'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { formatProblems } from '../../lib/config/problems.ts'
import { directory, failure, ids, lines, load, provider, type Env } from '../support/config.ts'

t.test('without a file or environment everything has its default', async t => {
  const cwd = directory(t)
  const all = loadSettings({ env: {}, cwd })
  t.same(
    all.providers.filter(({ enabled }) => !enabled).map(({ id }) => id),
    [...providerLabels]
  )
  t.same(
    { ...all, providers: all.providers.filter(({ enabled }) => enabled) },
    {
      server: {
        host: '127.0.0.1',
        acceptedHosts: [],
        corsOrigins: [],
        port: 8080,
        workers: 1,
        logLevel: 'info',
        logFormat: 'auto',
        logClient: true,
        logKeyName: true,
        dataDir: join(cwd, '.headgate'),
        exposeStages: true,
        publicHealth: false,
        aliases: true,
        litellmHeaders: false,
        compatibility: 'none',
        trustProxy: false,
        shutdownDelayMs: 500,
        drainMs: 8_000,
        workerTimeoutMs: 10_000,
        keepAliveMs: 65_000,
        writeTimeoutMs: 300_000,
        maxClientConnections: 10_000
      },
      limits: {
        jsonBodyBytes: 16_777_216,
        jsonBodyTotalBytes: 52_428_800,
        jsonValues: 500_000,
        jsonDepth: 100,
        jsonCompression: 20,
        storedBodyBytes: 6_291_456,
        formFields: 100,
        formFiles: 32,
        chatMessages: 12_000,
        chatParts: 12_000,
        chatTools: 1024,
        audioFileBytes: 26_214_400,
        documentBytes: 52_428_800,
        answerBytes: 67_108_864,
        eventBytes: 8_388_608,
        openCalls: 10_000,
        modelsPerCall: 16,
        maxSharePerKey: 0.5,
        uploadDiskBytes: 4_294_967_296,
        pipelinedRequests: 16,
        callMs: 600_000,
        bodyMs: 60_000,
        headersMs: 30_000,
        defaultMaxTokens: 8192,
        tags: [],
        models: [],
        withoutStore: 'allow',
        withoutCoordination: 'share'
      },
      endUsers: { store: 'as_given', required: false },
      tools: {
        connectMs: 5000,
        callMs: 30_000,
        loopMs: 300_000,
        loopTokens: 10_000_000,
        resultBytes: 262_144,
        callsPerTurn: 32,
        maxIdenticalCalls: 3,
        listTtlMs: 300_000,
        sessionIdleMs: 300_000,
        maxSessions: 256,
        allowedHosts: []
      },
      providers: [
        {
          id: 'sandbox',
          kind: 'sandbox',
          enabled: true,
          baseUrl: 'sandbox:',
          headers: {},
          timeouts: {
            connectMs: 10_000,
            firstByteMs: 60_000,
            responseMs: 600_000,
            idleBytesMs: 120_000,
            idleEventsMs: 300_000
          },
          retries: 3,
          onDisconnect: 'abort',
          cacheMarks: 'off',
          maxWaitingCalls: 1024,
          maxWaitingMs: 10_000,
          http2: false,
          quirks: {},
          listModels: false,
          options: {}
        }
      ],
      models: [],
      routes: [],
      toolServers: [],
      keys: [],
      store: { poolSize: 10, connectMs: 5000, statementMs: 10_000, keysStaleMs: 86_400_000 },
      coordination: { cluster: false, timeoutMs: 500 },
      usage: {
        keepDays: 90,
        keepRows: 1_000_000,
        exposeCost: true,
        projects: [],
        keys: [],
        exports: {},
        routes: []
      },
      deferred: {
        forAllProviders: false,
        keepMs: 86_400_000,
        maxPending: 1000,
        maxBytesPerKey: 268_435_456
      },
      calls: { keepBodies: [], keptMemoryBytes: 33_554_432 },
      guards: [],
      cache: {},
      alerts: { webhooks: {}, emails: {}, errorPercent: 20, keyExpiryDays: 7 },
      telemetry: { maxSampledPerSecond: 100 },
      responses: { store: true, keepMs: 2_592_000_000, maxBytesPerKey: 268_435_456 },
      dashboard: { enabled: true, insecure: false, editConfig: false },
      accounts: {}
    }
  )
})

t.test('the requested file is read', async t => {
  const cwd = directory(t, {
    'headgate.yaml': 'server: {port: 1}',
    'other/two.yaml': 'server: {port: 2}\nkeys: [{name: a, key: file:secret.txt}]',
    'other/secret.txt': 'beside the file\n',
    'three.yaml': 'server: {port: 3}'
  })
  t.equal(loadSettings({ env: {}, cwd }).server.port, 1)
  const two = loadSettings({ env: { HEADGATE_CONFIG: 'other/two.yaml' }, cwd })
  t.equal(two.server.port, 2)
  t.equal(two.keys[0]?.key.reveal(), 'beside the file')
  const three = loadSettings({ env: { HEADGATE_CONFIG: 'other/two.yaml' }, cwd, file: 'three.yaml' })
  t.equal(three.server.port, 3)
  const missing = failure(() => loadSettings({ env: { HEADGATE_CONFIG: 'four.yaml' }, cwd }))
  t.equal(formatProblems(missing), 'four.yaml  file not found')
  t.equal(
    formatProblems(failure(() => loadSettings({ env: {}, cwd, file: 'other' }))),
    'other  cannot be read (EISDIR)'
  )
})

t.test('a key in the environment enables its provider', async t => {
  const cwd = directory(t)
  const addresses: Record<string, [variable: string, baseUrl: string]> = {
    openai: ['OPENAI', 'https://api.openai.com/v1'],
    anthropic: ['ANTHROPIC', 'https://api.anthropic.com'],
    google: ['GEMINI', 'https://generativelanguage.googleapis.com'],
    xai: ['XAI', 'https://api.x.ai/v1'],
    mistral: ['MISTRAL', 'https://api.mistral.ai/v1'],
    groq: ['GROQ', 'https://api.groq.com/openai/v1'],
    fireworks: ['FIREWORKS', 'https://api.fireworks.ai/inference/v1'],
    deepseek: ['DEEPSEEK', 'https://api.deepseek.com/v1']
  }
  for (const [id, [prefix, baseUrl]] of Object.entries(addresses)) {
    const env = { [`${prefix}_API_KEY`]: 'secret' }
    const settings = loadSettings({ env, cwd })
    t.same(ids(settings), [id])
    t.match(provider(settings, id), { kind: id, baseUrl, retries: 3 })
    t.equal(provider(settings, id).apiKey?.reveal(), 'secret')
    const moved = loadSettings({ env: { ...env, [`${prefix}_BASE_URL`]: 'http://127.0.0.1:1/x/' }, cwd })
    t.equal(provider(moved, id).baseUrl, 'http://127.0.0.1:1/x')
  }
  const google = loadSettings({ env: { GOOGLE_API_KEY: 'b', GOOGLE_BASE_URL: 'http://g.example' }, cwd })
  t.match(provider(google, 'google'), { baseUrl: 'http://g.example' })
  const both = loadSettings({ env: { GOOGLE_API_KEY: 'b', GEMINI_API_KEY: 'a' }, cwd })
  t.equal(provider(both, 'google').apiKey?.reveal(), 'a')
})

t.test('an entry in the file and the environment are merged into one provider', async t => {
  const env = {
    OPENAI_API_KEY: 'usual',
    OTHER: 'other',
    GROQ_API_KEY: 'g',
    XAI_BASE_URL: 'http://x.example'
  }
  const settings = load(
    t,
    `
providers:
  openai: {retries: 0}
  groq: {enabled: false}
  xai: {base_url: 'http://file.example'}
  second: {kind: openai, api_key: env:OTHER}
`,
    env
  )
  t.same(ids(settings), ['openai', 'xai', 'second'])
  t.match(provider(settings, 'openai'), { retries: 0 })
  t.equal(provider(settings, 'openai').apiKey?.reveal(), 'usual')
  t.match(provider(settings, 'second'), { kind: 'openai', baseUrl: 'https://api.openai.com/v1' })
  t.equal(provider(settings, 'second').apiKey?.reveal(), 'other')
  t.match(provider(settings, 'xai'), { baseUrl: 'http://x.example' })
  t.notOk(provider(settings, 'xai').apiKey, 'callers bring their own key')
  const kept = load(t, 'providers: {openai: {api_key: env:OTHER}}', env)
  t.equal(provider(kept, 'openai').apiKey?.reveal(), 'other', 'the key entry in the file takes precedence')
})

t.test('the sandbox is enabled if there is no other provider, or on request', async t => {
  const cases: Array<[what: string, yaml: string, env: Env, ids: string[]]> = [
    ['nothing else', '', {}, ['sandbox']],
    ['only a provider that is off', 'providers: {openai: {enabled: false}}', {}, ['sandbox']],
    ['another provider', '', { XAI_API_KEY: 'x' }, ['xai']],
    ['requested in the file', 'providers:\n  sandbox:\n', { XAI_API_KEY: 'x' }, ['sandbox', 'xai']],
    ['switched off in the file', 'providers: {sandbox: {enabled: false}}', {}, []],
    ['requested in the environment', '', { XAI_API_KEY: 'x', HEADGATE_SANDBOX: 'on' }, ['xai', 'sandbox']],
    ['switched off in the environment', 'providers: {sandbox: {}}', { HEADGATE_SANDBOX: 'off' }, []],
    ['under another name', 'providers: {play: {kind: sandbox}}', {}, ['play']]
  ]
  for (const [what, yaml, env, expected] of cases) t.same(ids(load(t, yaml, env)), expected, what)
  t.same(lines(t, '', { HEADGATE_SANDBOX: 'maybe' }), ['environment  HEADGATE_SANDBOX  must be on or off'])
})

t.test('the dashboard can be switched with a single word', async t => {
  t.equal(load(t, 'dashboard: true').dashboard.enabled, true)
  t.equal(load(t, 'dashboard: false').dashboard.enabled, false)
})
