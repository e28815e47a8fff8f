import { providerKinds, providerLabels } from '../../schemas/providers.ts'
import t, { type Test } from 'tap'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { loadSettings, readSettings } from '../../lib/config/read-settings.ts'
import { variables } from '../../lib/config/environment.ts'
import { jsonSchema } from '../../lib/config/editor-schema.ts'
import { ConfigError, formatProblems, formatWarnings, type Problem } from '../../lib/config/problems.ts'
import { watchSettings, type SettingsWatch } from '../../lib/config/watch-settings.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { nearest } from '../../lib/text/nearest.ts'
import type { Quirks } from '../../lib/core/quirks.ts'
import type { ProviderSettings, Settings } from '../../lib/core/settings.ts'
import { Config } from '../../schemas/config.ts'

const root = new URL('../../../', import.meta.url)

/** A working directory of its own with these files. */
function directory (t: Test, files: Record<string, string> = {}): string {
  const cwd = mkdtempSync(join(tmpdir(), 'headgate-config-'))
  t.teardown(() => rmSync(cwd, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), text)
  }
  return cwd
}

type Env = Record<string, string | undefined>

function load (t: Test, yaml: string, env: Env = {}): Settings {
  return loadSettings({ env, cwd: directory(t, { 'headgate.yaml': yaml }) })
}

function failure (attempt: () => unknown): ConfigError {
  try {
    attempt()
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('nothing was wrong')
}

function problems (t: Test, yaml: string, env: Env = {}): readonly Problem[] {
  return failure(() => load(t, yaml, env)).problems
}

function lines (t: Test, yaml: string, env: Env = {}): string[] {
  return formatProblems(failure(() => load(t, yaml, env))).split('\n')
}

function provider (settings: Settings, id: string): ProviderSettings {
  const found = settings.providers.find(entry => entry.id === id)
  if (found === undefined) throw new Error(`no provider ${id}`)
  return found
}

/** What the gateway itself may use; callers may bring a key to any of the labels. */
const ids = (settings: Settings): string[] => settings.providers.filter(({ enabled }) => enabled).map(({ id }) => id)

t.test('without a file and an environment everything has its default', async t => {
  const cwd = directory(t)
  const all = loadSettings({ env: {}, cwd })
  t.same(all.providers.filter(({ enabled }) => !enabled).map(({ id }) => id), [...providerLabels])
  t.same({ ...all, providers: all.providers.filter(({ enabled }) => enabled) }, {
    server: {
      host: '127.0.0.1',
      port: 8080,
      workers: 1,
      logLevel: 'info',
      dataDir: join(cwd, '.headgate'),
      openHealth: false,
      shutdownDelayMs: 500,
      drainMs: 8_000,
      workerTimeoutMs: 10_000,
      keepAliveMs: 65_000,
      connections: 10_000
    },
    limits: {
      jsonBodyBytes: 16_777_216,
      mediaBodyBytes: 52_428_800,
      jsonValues: 500_000,
      jsonDepth: 100,
      chatMessages: 20_000,
      chatParts: 20_000,
      chatTools: 1024,
      audioFileBytes: 26_214_400,
      documentBytes: 52_428_800,
      answerBytes: 67_108_864,
      eventBytes: 8_388_608,
      openCalls: 10_000,
      keyShare: 0.5,
      uploadDiskBytes: 4_294_967_296,
      pipelinedRequests: 16,
      callMs: 600_000,
      bodyMs: 60_000,
      headersMs: 30_000
    },
    tools: {
      connectMs: 5000,
      callMs: 30_000,
      loopMs: 300_000,
      loopTokens: 10_000_000,
      resultBytes: 262_144,
      callsPerTurn: 32,
      repeats: 3,
      listTtlMs: 300_000,
      sessionIdleMs: 300_000,
      sessions: 256,
      allowedHosts: []
    },
    providers: [{
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
      retries: 2,
      onDisconnect: 'abort',
      connections: 256,
      waitingCalls: 1024,
      quirks: {},
      listModels: false,
      options: {}
    }],
    models: [],
    routes: [],
    toolServers: [],
    keys: [],
    usage: { keepDays: 90, keepRows: 1_000_000 },
    deferred: { emulate: false, keepMs: 86_400_000, pending: 1000, keyBytes: 268_435_456 }
  })
})

t.test('variables win over the file, the environment over .env', async t => {
  const cwd = directory(t, {
    'headgate.yaml': 'server:\n  port: 1\n  host: a.example\n  log_level: warn\n  open_health: true\n',
    '.env': 'PORT=2\nHOST=b.example\nHEADGATE_WORKERS=auto\nOPENAI_API_KEY=from-dotenv\n'
  })
  const env = {
    PORT: '3', HEADGATE_DATA_DIR: '../data', HEADGATE_LOG_LEVEL: '', HEADGATE_API_KEYS: ' one, two words ,,'
  }
  const settings = loadSettings({ env, cwd })
  t.match(settings.server, {
    port: 3,
    host: 'b.example',
    workers: availableParallelism(),
    logLevel: 'warn',
    dataDir: join(cwd, '../data'),
    openHealth: true
  })
  t.same(settings.keys.map(({ name, key }) => [name, key.reveal()]), [
    ['environment-7692c3ad3540', 'one'], ['environment-a03f1d611645', 'two words']
  ])
  t.equal(provider(settings, 'openai').apiKey?.reveal(), 'from-dotenv')
  t.same(ids(loadSettings({ env: { OPENAI_API_KEY: '' }, cwd })), ['sandbox'],
    'an empty variable switches off what .env switches on')
})

t.test('the file is the one that was asked for', async t => {
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
  t.equal(formatProblems(failure(() => loadSettings({ env: {}, cwd, file: 'other' }))),
    'other  cannot be read (EISDIR)')
})

t.test('a key in the environment switches its provider on', async t => {
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
    t.match(provider(settings, id), { kind: id, baseUrl, retries: 2 })
    t.equal(provider(settings, id).apiKey?.reveal(), 'secret')
    const moved = loadSettings({ env: { ...env, [`${prefix}_BASE_URL`]: 'http://127.0.0.1:1/x/' }, cwd })
    t.equal(provider(moved, id).baseUrl, 'http://127.0.0.1:1/x')
  }
  const google = loadSettings({ env: { GOOGLE_API_KEY: 'b', GOOGLE_BASE_URL: 'http://g.example' }, cwd })
  t.match(provider(google, 'google'), { baseUrl: 'http://g.example' })
  const both = loadSettings({ env: { GOOGLE_API_KEY: 'b', GEMINI_API_KEY: 'a' }, cwd })
  t.equal(provider(both, 'google').apiKey?.reveal(), 'a')
})

t.test('an entry of the file and the environment make one provider', async t => {
  const env = { OPENAI_API_KEY: 'usual', OTHER: 'other', GROQ_API_KEY: 'g', XAI_BASE_URL: 'http://x.example' }
  const settings = load(t, `
providers:
  openai: {retries: 0}
  groq: {enabled: false}
  xai: {base_url: 'http://file.example'}
  second: {kind: openai, api_key: env:OTHER}
`, env)
  t.same(ids(settings), ['openai', 'xai', 'second'])
  t.match(provider(settings, 'openai'), { retries: 0 })
  t.equal(provider(settings, 'openai').apiKey?.reveal(), 'usual')
  t.match(provider(settings, 'second'), { kind: 'openai', baseUrl: 'https://api.openai.com/v1' })
  t.equal(provider(settings, 'second').apiKey?.reveal(), 'other')
  t.match(provider(settings, 'xai'), { baseUrl: 'http://x.example' })
  t.notOk(provider(settings, 'xai').apiKey, 'callers bring their own key')
  const kept = load(t, 'providers: {openai: {api_key: env:OTHER}}', env)
  t.equal(provider(kept, 'openai').apiKey?.reveal(), 'other', 'what the file says of the key stays')
})

t.test('the sandbox is there when nothing else is, or when asked for', async t => {
  const cases: Array<[what: string, yaml: string, env: Env, ids: string[]]> = [
    ['nothing else', '', {}, ['sandbox']],
    ['only a provider that is off', 'providers: {openai: {enabled: false}}', {}, ['sandbox']],
    ['another provider', '', { XAI_API_KEY: 'x' }, ['xai']],
    ['asked for in the file', 'providers:\n  sandbox:\n', { XAI_API_KEY: 'x' }, ['sandbox', 'xai']],
    ['switched off in the file', 'providers: {sandbox: {enabled: false}}', {}, []],
    ['asked for in the environment', '', { XAI_API_KEY: 'x', HEADGATE_SANDBOX: 'on' }, ['xai', 'sandbox']],
    ['switched off in the environment', 'providers: {sandbox: {}}', { HEADGATE_SANDBOX: 'off' }, []],
    ['under another name', 'providers: {play: {kind: sandbox}}', {}, ['play']]
  ]
  for (const [what, yaml, env, expected] of cases) t.same(ids(load(t, yaml, env)), expected, what)
  t.same(lines(t, '', { HEADGATE_SANDBOX: 'maybe' }), [
    'environment  HEADGATE_SANDBOX  must be on or off'
  ])
})

t.test('every part of the file arrives under the names code uses', async t => {
  const settings = load(t, `
providers:
  gpu:
    kind: vllm
    base_url: http://[::1]:8000/v1/
    headers: {x-team: env:TEAM}
    timeouts: {first_byte_ms: 5}
    on_disconnect: drain
    quirks: {token_limit_field: max_tokens, lenient_finish: true, omit: [store]}
    options: {anything: [1, two]}
  lm-studio:
models:
  fast: {alias: careful}
  gpu/llama: {hidden: true, display_name: Llama, capabilities: {tools: true}, price: {cached_input: 0.5}}
routes:
  careful: [gpu/llama, openai/gpt-4.1]
mcp_servers:
  acme/remote: {url: 'https://t.example/mcp', headers: {authorization: env:TEAM}, timeout_ms: 7}
  acme/local: {command: tool, args: [-v], env: {TOKEN: env:TEAM}, allowed_tools: [read]}
keys:
  - {name: web, key: env:KEY, endpoints: [chat], models: [gpu/*], expires_at: '2030-01-01T00:00:00Z'}
deferred: {emulate: true}
tools: {allowed_hosts: [10.0.0.0/8]}
`, { TEAM: 'team', KEY: 'key of web' })
  const gpu = provider(settings, 'gpu')
  t.match(gpu, {
    kind: 'vllm',
    baseUrl: 'http://[::1]:8000/v1',
    timeouts: { firstByteMs: 5, connectMs: 10_000 },
    onDisconnect: 'drain',
    listModels: true,
    options: { anything: [1, 'two'] }
  })
  t.same(gpu.quirks, { tokenLimitField: 'max_tokens', lenientFinish: true, omit: ['store'] })
  t.equal(gpu.headers['x-team']?.reveal(), 'team')
  t.match(provider(settings, 'lm-studio'), { kind: 'lm-studio', baseUrl: 'http://127.0.0.1:1234/v1' })
  t.same(settings.models, [
    { id: 'fast', alias: 'careful', hidden: false },
    {
      id: 'gpu/llama',
      hidden: true,
      displayName: 'Llama',
      capabilities: { tools: true },
      price: { cachedInput: 0.5 }
    }
  ])
  t.same(settings.routes, [{ name: 'careful', models: ['gpu/llama', 'openai/gpt-4.1'] }])
  t.match(settings.toolServers, [
    { slug: 'acme/remote', url: 'https://t.example/mcp', timeoutMs: 7 },
    { slug: 'acme/local', command: 'tool', args: ['-v'], allowedTools: ['read'] }
  ])
  t.equal(settings.toolServers[1]?.env.TOKEN?.reveal(), 'team')
  t.match(settings.keys, [
    { name: 'web', endpoints: ['chat'], models: ['gpu/*'], expiresAtMs: Date.UTC(2030, 0) }
  ])
  t.equal(settings.deferred.emulate, true)
  t.same(settings.tools.allowedHosts, ['10.0.0.0/8'])
})

t.test('metrics are off until they are asked for, and have a port of their own', async t => {
  t.equal(load(t, 'metrics:\n').metrics, undefined)
  t.same(load(t, 'metrics: {}').metrics, { host: '127.0.0.1', port: 9464 })
  t.same(load(t, 'metrics: {port: 1}', { HEADGATE_METRICS_HOST: '::1' }).metrics, { host: '::1', port: 1 })
  t.same(load(t, 'server: {port: 0}', { HEADGATE_METRICS_PORT: '0' }).metrics, { host: '127.0.0.1', port: 0 })
  const message = 'is the port of the API (server.port); metrics need a port of their own'
  t.same(lines(t, 'metrics:\n  port: 8080'), [`headgate.yaml:2:9  metrics.port  ${message}`])
  t.same(lines(t, 'metrics: {}', { PORT: '9464' }), [`headgate.yaml:1:1  metrics.port  ${message}`])
})

t.test('a route is a list, or a map with a strategy', async t => {
  const { routes, models } = load(t, `models:
  openai/gpt-5: {attributes: {intelligence: 0.9, cost: 1}}
routes:
  plain: [openai/gpt-5]
  shared: {strategy: weighted, models: [{model: openai/gpt-5, weight: 2.5}, openai/gpt-5-mini, {model: openai/gpt-5-nano}]}
  map: {models: [openai/gpt-5]}`, { OPENAI_API_KEY: 'x' })
  t.same(models[0]?.attributes, { intelligence: 0.9, cost: 1 })
  t.same(routes, [
    { name: 'plain', models: ['openai/gpt-5'] },
    {
      name: 'shared',
      strategy: 'weighted',
      models: ['openai/gpt-5', 'openai/gpt-5-mini', 'openai/gpt-5-nano'],
      weights: { 'openai/gpt-5': 2.5, 'openai/gpt-5-nano': 1 }
    },
    { name: 'map', strategy: 'in_order', models: ['openai/gpt-5'] }
  ])
  const problems: Array<[string, string]> = [
    ['models: {openai/gpt-5: {attributes: {speed: 2}}}', '1:45  models["openai/gpt-5"].attributes.speed  must be at most 1'],
    ['routes: {a: text}', '1:13  routes.a  must be a list or a map'],
    ['routes: {a: {models: []}}', '1:14  routes.a.models  must not be an empty list'],
    ['routes: {a: {strategy: weighted}}', '1:10  routes.a.models  is missing'],
    ['routes: {a: {models: [openai/gpt-5], strategy: fastes}}', '1:48  routes.a.strategy  must be one of in_order, weighted, cheapest, fastest; did you mean fastest?'],
    ['routes: {a: {models: [5]}}', '1:23  routes.a.models[0]  must be text or a map'],
    ['routes: {a: {models: [{model: openai/gpt-5, wight: 1}]}}', '1:45  routes.a.models[0].wight  unknown entry; did you mean routes.a.models[0].weight?'],
    ['routes: {a: {models: [{model: openai/gpt-5, weight: -1}]}}', '1:53  routes.a.models[0].weight  must be at least 0'],
    ['routes: {a: {models: [a]}}', '1:23  routes.a.models[0]  leads back to itself'],
    ['routes: {a: {models: [{model: opneai/gpt-5}]}}', '1:23  routes.a.models[0]  names a provider that is not configured; did you mean openai/gpt-5?']
  ]
  for (const [yaml, problem] of problems) t.same(lines(t, yaml), [`headgate.yaml:${problem}`], yaml)
})

t.test('all problems of a file are reported at once, each with its place', async t => {
  t.same(lines(t, `providers:
  opnai:
    retries: 3
  openai:
    base_ulr: http://x
    api_key: env:NOT_SET
    retries: eleven
    timeouts:
      connect: 10s
  groq:
    on_disconnect: drian
    base_url: http://user:pass@host/v1
  Bad Name:
    base_url: http://x
models:
  opneai/gpt-4.1:
  fast:
    alias: groc/llama
routes:
  fast: [openai/gpt-4.1]
  empty: []
mcp_servers:
  tickets: {url: 'http://x'}
  a/b: {}
  a/c: {url: 'http://x', command: y}
  a/d: {url: 'http://x', args: [z]}
  a/e: {command: y, headers: {x: file:missing.txt}}
server:
  port: 70000
  workers: many
  host: ""
  log_level: 3
limts: {}
tools: 5
`), [
    'headgate.yaml:2:3  providers.opnai.base_url  is required: this kind has no public address; did you mean providers.openai?',
    'headgate.yaml:5:5  providers.openai.base_ulr  unknown entry; did you mean providers.openai.base_url?',
    'headgate.yaml:6:14  providers.openai.api_key  the variable NOT_SET is not set',
    'headgate.yaml:7:14  providers.openai.retries  must be a whole number',
    'headgate.yaml:9:7  providers.openai.timeouts.connect  unknown entry; did you mean providers.openai.timeouts.connect_ms?',
    'headgate.yaml:11:20  providers.groq.on_disconnect  must be one of abort, drain; did you mean drain?',
    'headgate.yaml:12:15  providers.groq.base_url  must be an http:// or https:// address without user, query and fragment',
    'headgate.yaml:13:3  providers["Bad Name"]  a name is lower-case letters, digits, `.`, `_` and `-`',
    'headgate.yaml:16:3  models["opneai/gpt-4.1"]  names a provider that is not configured; did you mean openai/gpt-4.1?',
    'headgate.yaml:18:12  models.fast.alias  names a provider that is not configured; did you mean groq/llama?',
    'headgate.yaml:20:3  routes.fast  is also the name of a model',
    'headgate.yaml:21:3  routes.empty  must not be an empty list',
    'headgate.yaml:23:3  mcp_servers.tickets  a tool server is named `org/name`',
    'headgate.yaml:24:3  mcp_servers["a/b"]  needs a url or a command',
    'headgate.yaml:25:26  mcp_servers["a/c"].command  not together with url',
    'headgate.yaml:26:26  mcp_servers["a/d"].args  only together with command',
    'headgate.yaml:27:21  mcp_servers["a/e"].headers  only together with url',
    'headgate.yaml:27:34  mcp_servers["a/e"].headers.x  the file missing.txt cannot be read (ENOENT)',
    'headgate.yaml:29:9  server.port  must be at most 65535',
    'headgate.yaml:30:12  server.workers  must be a whole number or `auto`',
    'headgate.yaml:31:9  server.host  must not be empty',
    'headgate.yaml:32:14  server.log_level  must be one of trace, debug, info, warn, error, fatal, silent',
    'headgate.yaml:33:1  limts  unknown entry; did you mean limits?',
    'headgate.yaml:34:8  tools  must be a map'
  ])
})

t.test('a problem says its parts separately', async t => {
  t.same(problems(t, '\nkeys:\n  - key: env:A\n    nmae: x\n', { A: 'a' }), [
    {
      file: 'headgate.yaml',
      line: 3,
      column: 5,
      path: 'keys[0].name',
      message: 'is missing'
    },
    {
      file: 'headgate.yaml',
      line: 4,
      column: 5,
      path: 'keys[0].nmae',
      message: 'unknown entry',
      suggestion: 'keys[0].name'
    }
  ])
  t.same(lines(t, 'keys:\n- {name: a, key: env:A}\n- {name: a, key: env:B, expires_at: 2030-13-01}', { A: 'a', B: 'b' }), [
    'headgate.yaml:3:10  keys[1].name  another key has this name',
    'headgate.yaml:3:37  keys[1].expires_at  is not a date'
  ])
  t.same(lines(t, 'providers: {mine: {base_url: 5}}'), [
    'headgate.yaml:1:30  providers.mine.base_url  must be an http:// or https:// address without user, query and fragment'
  ], 'what follows from a problem is not told as another')
  t.same(lines(t, 'providers: {box: {kind: olama}}'), [
    `headgate.yaml:1:25  providers.box.kind  must be one of ${providerKinds.join(', ')}; did you mean ollama?`
  ])
  t.same(lines(t, 'usage: {keep: 5, for: 6}'), [
    'headgate.yaml:1:9  usage.keep  unknown entry; there are keep_days, keep_rows',
    'headgate.yaml:1:18  usage.for  unknown entry; there are keep_days, keep_rows'
  ], 'where nothing is near, all there is')
  t.same(lines(t, 'models:\n  a: {alias: b}\n  b: {alias: a}\nroutes:\n  c: [c]'), [
    'headgate.yaml:2:14  models.a.alias  leads back to itself',
    'headgate.yaml:3:14  models.b.alias  leads back to itself',
    'headgate.yaml:5:7  routes.c[0]  leads back to itself'
  ])
  t.same(lines(t, 'models:\n  fast: {hidden: true}\n  brisk: {alias: fast}'), [
    'headgate.yaml:2:3  models.fast  needs the prefix of a provider, or an alias'
  ])
  t.same(lines(t, `providers:
  sandbox: {options: {words_per_second: fast}}
  play: {kind: sandbox, options: {word_per_second: 5}}
keys:
  - {name: a, key: env:KEY, endpoints: [chat, ebmeddings]}`, { KEY: 'k' }), [
    'headgate.yaml:2:41  providers.sandbox.options.words_per_second  must be a number, 0 or more',
    'headgate.yaml:3:35  providers.play.options.word_per_second  unknown entry; did you mean words_per_second?',
    'headgate.yaml:5:47  keys[0].endpoints[1]  must be one of chat, embeddings, speech, transcriptions, ' +
      'translations, images, ocr, models, openapi, health, livez, readyz; did you mean embeddings?'
  ])
  t.same(lines(t, 'server: {port: 1}', { PORT: 'http', OPENAI_API_KEY: 'x', OPENAI_BASE_URL: 'api' }), [
    'environment  OPENAI_BASE_URL  must be an http:// or https:// address without user, query and fragment',
    'environment  PORT  must be a whole number'
  ])
})

t.test('names of models must lead somewhere, and not in a circle', async t => {
  t.same(lines(t, `providers: {gpu: {kind: vllm}}
models:
  a: {alias: r}
  fast: {hidden: true}
  wrong: {alias: 5}
  named: {alias: openai/gpt-5, display_name: Five, price: {input: 1}}
  gpu/llama: {capabilities: {tools: 1, vison: true, input_token_limit: 0.5}}
  ollama/qwen: {}
routes:
  r: [s, openai/gpt-5]
  s: [gpu/llama, a]
  t: [r, claude-opus]
keys:
  - {name: x, key: env:K, models: ['*', gpu/*, opnai/*, gpt-*, openai/gpt-*, t, vlm/x]}`, { K: 'k' }), [
    'headgate.yaml:3:14  models.a.alias  leads back to itself',
    'headgate.yaml:4:3  models.fast  needs the prefix of a provider, or an alias',
    'headgate.yaml:5:18  models.wrong.alias  must be text',
    'headgate.yaml:6:32  models.named.display_name  not together with alias',
    'headgate.yaml:6:52  models.named.price  not together with alias',
    'headgate.yaml:7:37  models["gpu/llama"].capabilities.tools  must be true or false',
    'headgate.yaml:7:40  models["gpu/llama"].capabilities.vison  must be one of text, vision, image_generation, audio, ' +
      'tools, structured_output, streaming, thinking, input_token_limit, output_token_limit; did you mean vision?',
    'headgate.yaml:7:72  models["gpu/llama"].capabilities.input_token_limit  must be a whole number of tokens',
    'headgate.yaml:8:3  models["ollama/qwen"]  names a provider that is not configured',
    'headgate.yaml:10:7  routes.r[0]  leads back to itself',
    'headgate.yaml:11:18  routes.s[1]  leads back to itself',
    'headgate.yaml:14:48  keys[0].models[2]  names a provider that is not configured; did you mean openai/*?',
    'headgate.yaml:14:57  keys[0].models[3]  only `*` and `provider/*` are patterns',
    'headgate.yaml:14:64  keys[0].models[4]  only `*` and `provider/*` are patterns',
    'headgate.yaml:14:81  keys[0].models[6]  names a provider that is not configured'
  ])
  t.same(lines(t, 'routes: {t: [gpt-55, gpt-5]}'), [
    'headgate.yaml:1:14  routes.t[0]  is unknown to every enabled provider; did you mean gpt-5?'
  ], 'a name without prefix is known where every model is')
})

t.test('what may be meant is no problem, but said', async t => {
  const cwd = directory(t, { 'headgate.yaml': `providers:
  gpu: {kind: vllm, options: {pace: 1}}
  azure: {kind: azure-openai, base_url: 'http://x', options: {api_version: '1', pace: 1}}
models: {fast: {alias: openai/gpt-55}}
routes: {all: [openai/gpt-5, sandbox/eco, gpu/anything, azure/mine, fast], none: [off, openai/gpt-5], off: [xai/grok-4.3], some: [none, gpu/x]}
keys: [{name: a, key: env:K, expires_at: 2020-01-01, models: [anthropic/of-my-own]}]` })
  const { settings, warnings } = readSettings({ env: { K: 'k', HEADGATE_SANDBOX: 'on' }, cwd })
  t.same(settings.routes.length, 4)
  const told = [
    'headgate.yaml:2:31  providers.gpu.options.pace  warning: has no effect on this kind',
    'headgate.yaml:3:81  providers.azure.options.pace  warning: has no effect on this kind',
    'headgate.yaml:4:24  models.fast.alias  warning: is not in the catalogue; its provider may know it; did you mean openai/gpt-5?',
    'headgate.yaml:5:30  routes.all[1]  warning: is not in the catalogue; its provider may know it; did you mean sandbox/echo?',
    'headgate.yaml:5:76  routes.none  warning: leads only to disabled providers',
    'headgate.yaml:5:103  routes.off  warning: leads only to disabled providers',
    'headgate.yaml:6:42  keys[0].expires_at  warning: has passed',
    'headgate.yaml:6:63  keys[0].models[0]  warning: is not in the catalogue; its provider may know it'
  ]
  t.same(formatWarnings(warnings), told)
  const error = failure(() => readSettings({ env: { K: 'k', HEADGATE_SANDBOX: 'on', PORT: 'x' }, cwd }))
  t.same(formatWarnings(error.warnings), told, 'also beside a problem')
  t.same(error.problems.length, 1)
  t.same(lines(t, 'providers: {a: {kind: azure-openai, base_url: "http://x", options: {api_version: 20241021}}}'), [
    'headgate.yaml:1:82  providers.a.options.api_version  must be text'
  ])
})

t.test('hosts that allow nothing are refused', async t => {
  const good = ['tools.internal', 'tools.internal:8080', 'localhost', '10.0.0.1', '10.0.0.1:80', '10.0.0.0/8', '::1', '::1:80', 'fd00::/8', 'a_b']
  t.same(load(t, `tools: {allowed_hosts: [${good.map(host => `'${host}'`).join(', ')}]}`).tools.allowedHosts, good)
  const bad: ReadonlyArray<readonly [host: string, message: string]> = [
    ['10.0.0.0/33', 'is not a range of addresses'], ['10.0.0.256/8', 'is not a range of addresses'],
    ['tools.internal/8', 'is not a range of addresses'], ['::ffff:10.0.0.0/104', 'must be an IPv4 range'],
    ['10.0.0.256', 'is not an address'], ['10.0.0', 'is not an address'], ['fe80::zz', 'is not an address'],
    ['host:http', 'has an invalid port'], ['host:70000', 'has an invalid port'],
    ['*.internal', 'must be a host, an address or a range (10.0.0.0/8)']
  ]
  t.same(lines(t, `tools:\n  allowed_hosts:\n${bad.map(([host]) => `    - '${host}'\n`).join('')}`),
    bad.map(([, message], index) => `headgate.yaml:${index + 3}:7  tools.allowed_hosts[${index}]  ${message}`))
})

t.test('addresses nobody can listen on are refused', async t => {
  for (const host of ['0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'gate-1.example']) {
    t.equal(load(t, `server: {host: '${host}'}`).server.host, host)
  }
  for (const host of ['a\\0b', 'a b', 'http://a', 'a/b', '[::1]', 'a\\nb', 'é']) {
    t.same(lines(t, `server: {host: "${host}"}`), ['headgate.yaml:1:16  server.host  must be an address or a name of this machine'], host)
  }
  for (const host of ['localhost:8080', '127.0.0.1:8080', '::g']) {
    t.same(lines(t, `server: {host: '${host}'}`), ['headgate.yaml:1:16  server.host  is not an address; the port is `server.port`'], host)
  }
})

t.test('a day the calendar does not have is no expiry', async t => {
  const keyUntil = (day: string): string => `keys: [{name: a, key: env:K, expires_at: ${day}}]`
  for (const day of ['2030-02-31', '2030-02-29', '2030-04-31T00:00:00Z', '2030-06-31T23:00:00+02:00', '2030-00-10']) {
    t.same(lines(t, keyUntil(day), { K: 'k' }), ['headgate.yaml:1:42  keys[0].expires_at  is not a date'], day)
  }
  t.match(load(t, keyUntil('2032-02-29'), { K: 'k' }).keys, [{ expiresAtMs: Date.UTC(2032, 1, 29) }])
})

t.test('what is wrong with one item of a list hides nothing of the others', async t => {
  t.same(lines(t, `keys:
  - {nmae: a, key: env:A}
  - {name: b}
  - {}
  - {name: c, key: env:A, endpoints: [chat, 5, chatt], expires_at: 2030-13-01}
  - {name: c, key: env:B, models: [5, gpt-*]}
routes:
  r: [5, {}, r, openai/gpt-5, nobody/x]`, { A: 'a', B: 'b' }), [
    'headgate.yaml:2:5  keys[0].name  is missing',
    'headgate.yaml:2:6  keys[0].nmae  unknown entry; did you mean keys[0].name?',
    'headgate.yaml:3:5  keys[1].key  is missing',
    'headgate.yaml:4:5  keys[2].name  is missing',
    'headgate.yaml:4:5  keys[2].key  is missing',
    'headgate.yaml:5:45  keys[3].endpoints[1]  must be text',
    'headgate.yaml:5:48  keys[3].endpoints[2]  must be one of chat, embeddings, speech, transcriptions, ' +
      'translations, images, ocr, models, openapi, health, livez, readyz; did you mean chat?',
    'headgate.yaml:5:68  keys[3].expires_at  is not a date',
    'headgate.yaml:6:12  keys[4].name  another key has this name',
    'headgate.yaml:6:36  keys[4].models[0]  must be text',
    'headgate.yaml:6:39  keys[4].models[1]  only `*` and `provider/*` are patterns',
    'headgate.yaml:8:7  routes.r[0]  must be text',
    'headgate.yaml:8:10  routes.r[1]  must be text',
    'headgate.yaml:8:14  routes.r[2]  leads back to itself',
    'headgate.yaml:8:31  routes.r[4]  names a provider that is not configured'
  ])
})

t.test('addresses and headers that no request can have are refused', async t => {
  t.same(lines(t, `providers:
  openai: {headers: {X-Team: env:A, Connection: env:A, x-team: env:A, host: env:A}}
mcp_servers:
  a/b: {url: 'http://x', headers: {transfer-encoding: env:A}}
tools: {registry_url: 'http://x:99999'}`, { A: 'a' }), [
    'headgate.yaml:2:37  providers.openai.headers.Connection  belongs to the connection',
    'headgate.yaml:2:56  providers.openai.headers.x-team  is a duplicate',
    'headgate.yaml:4:36  mcp_servers["a/b"].headers.transfer-encoding  belongs to the connection',
    'headgate.yaml:5:23  tools.registry_url  is not an address'
  ])
})

t.test('no key is another key, and none has the name of another', async t => {
  const yaml = 'keys:\n- {name: admin, key: env:A}\n- {name: web, key: env:B, endpoints: [chat]}\n- {name: environment-2d711642b726, key: env:C}'
  t.same(lines(t, yaml, { A: 'same', B: 'same', C: 'other', HEADGATE_API_KEYS: 'x,y\u200b' }), [
    'environment  HEADGATE_API_KEYS  key 2 holds what no header can carry, at character 2',
    'headgate.yaml:3:20  keys[1].key  is the same as that of another key',
    'headgate.yaml:4:10  keys[2].name  is the name of a key in HEADGATE_API_KEYS'
  ])
  t.same(lines(t, yaml, { A: 'a', B: 'b', C: 'c', HEADGATE_API_KEYS: 'b' }), [
    'environment  HEADGATE_API_KEYS  key 1 is the same as that of an entry of keys'
  ], 'it would widen what the other may do')
})

t.test('text that is not a configuration is refused with its place', async t => {
  const nested = Array.from({ length: 6 }, (_, index) => (
    `l${index + 1}: &l${index + 1} [${Array.from({ length: 9 }, () => `*l${index}`).join(', ')}]`
  ))
  const cases: Array<[yaml: string, line: string]> = [
    ['server: {}\nserver: {}\n', ':2:1  this entry is a duplicate'],
    ['providers:\n  openai: {retries: 1, retries: 2}\n', ':2:24  this entry is a duplicate'],
    ['a: 1\n---\nb: 2\n', ':2:1  only one document is allowed'],
    ['- server\n', ':1:1  must be a map of entries'],
    ['just text', ':1:1  must be a map of entries'],
    ['server: *nothing\n', ':1:9  unknown anchor'],
    ['server: &a\n  host: *a\n', ':2:9  self-referencing alias'],
    ['server: !secret x\n', ':1:9  tags (`!name`) are not supported'],
    ['server:\n\tport: 1\n', ':2:1  not valid YAML: Tabs are not allowed as indentation'],
    [['l0: &l0 [1, 1]', ...nested].join('\n'), ':1:1  too many alias expansions'],
    [`#${'x'.repeat(1024 * 1024)}`, ':1:1  larger than 1 MB']
  ]
  for (const [yaml, line] of cases) t.equal(lines(t, yaml)[0], `headgate.yaml${line}`)
})

t.test('anchors may be shared, and problems found through them', async t => {
  const yaml = `providers:
  groq: {timeouts: &slow {response_ms: 9, idle_bytes_ms: 8}}
  xai: {timeouts: *slow}
`
  const settings = load(t, yaml)
  t.match(provider(settings, 'xai').timeouts, { responseMs: 9, idleBytesMs: 8 })
  t.same(lines(t, yaml.replace('9', 'nine')), [
    'headgate.yaml:2:40  providers.groq.timeouts.response_ms  must be a whole number',
    'headgate.yaml:2:40  providers.xai.timeouts.response_ms  must be a whole number'
  ])
})

t.test('sections with everything commented out are no mistake', async t => {
  t.same(ids(load(t, 'providers:\nmodels:\nkeys:\nserver:\n  port:\n')), ['sandbox'])
  t.same(ids(load(t, '# nothing\n')), ['sandbox'])
})

t.test('a secret is never taken from the file, and never shown', async t => {
  const canary = 'sk-canary-4711'
  const places = [
    `providers: {openai: {api_key: ${canary}}}`,
    'providers: {openai: {api_key: 4711}}',
    `providers: {openai: {api_key: 'env:${canary}'}}`,
    `providers: {openai: {headers: {x-key: ${canary}}}}`,
    `keys: [{name: a, key: ${canary}}]`,
    `mcp_servers: {a/b: {command: x, env: {TOKEN: ${canary}}}}`,
    `mcp_servers: {a/b: {url: 'http://x', headers: {authorization: ${canary}}}}`
  ]
  for (const yaml of places) {
    const error = failure(() => load(t, yaml))
    t.match(error.message, 'secrets are not written here: name a variable (env:NAME) or a file (file:PATH)')
    t.notMatch(inspect(error, { depth: Infinity }), /4711/)
  }
  const broken = [
    `api_key: |${canary}\n  x`, `api_key: "\\x${canary}"`, `api_key: "${canary}`, `? [${canary}]\n: 1`,
    canary, `api_key: {${canary}`, `providers: {openai: {base_url: 'http://a:${canary}@b/'}}`,
    `providers: {openai: {on_disconnect: ${canary}}}`, `server: ${canary}`
  ]
  for (const yaml of broken) {
    t.notMatch(inspect(failure(() => load(t, yaml)), { depth: Infinity }), /4711/, yaml)
  }

  const yaml = `providers: {openai: {api_key: env:CANARY, headers: {x: env:CANARY}}}
keys: [{name: a, key: env:CANARY}]
mcp_servers: {a/b: {command: x, env: {T: env:CANARY}}}`
  const settings = load(t, yaml, { CANARY: canary, HEADGATE_API_KEYS: `${canary}-too` })
  t.equal(provider(settings, 'openai').apiKey?.reveal(), canary)
  t.notMatch(JSON.stringify(settings) + inspect(settings, { depth: Infinity }), /4711/)
  t.same(lines(t, 'keys: [{name: a, key: env:sk_canary_4711}]'), [
    'headgate.yaml:1:23  keys[0].key  the variable named here is not set'
  ], 'a secret put behind `env:` by mistake is not shown either')
  t.match(lines(t, yaml, { CANARY: `${canary}\r\nx-injected: 1` }), [
    'headgate.yaml:1:31  providers.openai.api_key  the variable CANARY holds more than one line'
  ])
  t.same(ids(load(t, 'providers: {openai: {enabled: false, api_key: env:NOT_SET}}')), ['sandbox'],
    'a provider that is off needs no secret')
})

t.test('a secret that no header can carry is refused by its place, and one for a program is not', async t => {
  const yaml = `providers:
  openai: {api_key: env:WIDE, headers: {x-team: file:team.txt}}
mcp_servers:
  a/b: {url: 'http://x', headers: {authorization: env:WIDE}}
  a/c: {command: x, env: {TOKEN: env:WIDE}}
keys: [{name: a, key: env:WIDE}]`
  const cwd = directory(t, { 'headgate.yaml': yaml, 'team.txt': ' bell\x07 \n' })
  const error = failure(() => loadSettings({ env: { WIDE: ' canary\u200b\t' }, cwd }))
  t.same(formatProblems(error).split('\n'), [
    'headgate.yaml:2:21  providers.openai.api_key  the variable WIDE holds what no header can carry, at character 7',
    'headgate.yaml:2:49  providers.openai.headers.x-team  the file team.txt holds what no header can carry, at character 5',
    'headgate.yaml:4:51  mcp_servers["a/b"].headers.authorization  the variable WIDE holds what no header can carry, at character 7',
    'headgate.yaml:6:23  keys[0].key  the variable WIDE holds what no header can carry, at character 7'
  ])
  t.notMatch(inspect(error, { depth: Infinity }), /canary/)
  t.same(lines(t, '', { OPENAI_API_KEY: 'x\x7f' }), [
    'environment  OPENAI_API_KEY  the variable OPENAI_API_KEY holds what no header can carry, at character 2'
  ])
  t.equal(provider(load(t, '', { OPENAI_API_KEY: ' caf\xe9 ' }), 'openai').apiKey?.reveal(), 'caf\xe9')
})

t.test('the example file is right, with and without its entries, and complete', async t => {
  const example = readFileSync(new URL('headgate.example.yaml', root), 'utf8')
  t.match(example, /^# yaml-language-server: \$schema=\.\/build\/headgate\.schema\.json\n/)
  t.same(ids(load(t, example)), ['sandbox'])
  // Prose begins with `# ` and a word; everything else behind a `#` is an entry.
  const whole = example.replace(/^#(?! \S)/gm, '')
  const names = [...whole.matchAll(/env:(\w+)/g)].map(([, name]) => name ?? '')
  const env = Object.fromEntries(names.map(name => [name, 'x']))
  t.same(ids(load(t, whole, env)), ['openai', 'ollama', 'team-gpu', 'sandbox', 'local'])
  t.same(entryNames(Config).filter(name => !new RegExp(`^ *(- )?${name}:`, 'm').test(whole)), [])
  const defaults = load(t, '')
  const { limits: { defaultKey, bodyMemoryBytes, ...limits }, tools, deferred, usage, metrics } = load(t, whole, env)
  t.same(defaultKey, { requestsPerMinute: 600 })
  t.same(usage, defaults.usage)
  t.same(metrics, load(t, 'metrics: {}').metrics)
  t.equal(bodyMemoryBytes, 1_073_741_824)
  t.same(limits, defaults.limits, 'the example shows the defaults')
  t.same(deferred, defaults.deferred)
  t.match(tools, { ...defaults.tools, allowedHosts: ['tools.internal', '10.0.0.0/8'] })
  const used = load(t, whole, env)
  const models = createModels(used, new Set(ids(used)))
  t.match(models.routes('fast'), [{ modelId: 'openai/gpt-4.1-mini' }])
  t.match(models.routes('careful'), [{ modelId: 'openai/gpt-4.1' }, { modelId: 'team-gpu/llama-3.3-70b' }])
})

t.test('models of a provider that is off are no mistake, and are not there', async t => {
  const settings = load(t, `
providers: {gpu: {enabled: false, kind: vllm}, ollama: {}}
models: {gpu/llama: {hidden: true}, ollama/qwen: {hidden: true}, fast: {alias: gpu/llama}}
`)
  t.same(settings.models.map(({ id }) => id), ['ollama/qwen', 'fast'])
  t.same(createModels(settings, new Set(ids(settings))).routes('fast'), [])
})

/** Every name of an entry anywhere in a schema. */
function entryNames (schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const names = 'properties' in schema ? Object.keys(schema.properties ?? {}) : []
  return names.concat(Object.values(schema).flatMap(entryNames))
}

t.test('.env.example lists exactly the variables that are read', async t => {
  const example = readFileSync(new URL('.env.example', root), 'utf8')
  const listed = [...example.matchAll(/^([A-Z_]+)=(.*)$/gm)]
  t.same(listed.map(([, name]) => name ?? '').toSorted(), [...variables].toSorted())
  t.ok(listed.every(([, , value]) => value === ''), 'as it stands it says nothing')
})

t.test('the schema for editors asks only for what has no default', async t => {
  const schema = jsonSchema()
  t.equal(schema.$schema, 'http://json-schema.org/draft-07/schema#')
  t.equal(schema.required, undefined)
  t.match(JSON.stringify(schema), '"required":["name","key"]')
  t.ok(entryNames(schema).includes('idle_events_ms'))
  const undescribed: string[] = []
  const visit = (path: string, node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    for (const [key, value] of Object.entries(node)) {
      if (key === 'properties' && typeof value === 'object' && value !== null) {
        for (const [name, entry] of Object.entries<object>(value)) {
          if (!('description' in entry)) undescribed.push(`${path}.${name}`)
        }
      }
      visit(`${path}.${key}`, value)
    }
  }
  visit('', schema)
  t.same(undescribed, [], 'every entry is described')
})

t.test('the file knows every kind and every quirk code knows', async t => {
  const quirks: Record<keyof Quirks, string> = {
    tokenLimitField: 'token_limit_field',
    omit: 'omit',
    streamUsage: 'stream_usage',
    choices: 'choices',
    lenientFinish: 'lenient_finish',
    reasoningEffort: 'reasoning_effort',
    forward: 'forward',
    echo: 'echo',
    obfuscation: 'obfuscation',
    customTools: 'custom_tools',
    legacyFunctions: 'legacy_functions',
    rename: 'rename',
    toolCallIdLength: 'tool_call_id_length',
    toolImages: 'tool_images',
    base64Embeddings: 'base64_embeddings'
  }
  const entry = Config.properties.providers.patternProperties['^.*$']
  t.same(Object.keys(entry.properties.quirks.properties).toSorted(), Object.values(quirks).toSorted())
  t.same(entry.properties.kind.enum, providerKinds)
})

t.test('the nearest word is found, a far one is not', async t => {
  t.equal(nearest('opnai', ['anthropic', 'openai', 'xai']), 'openai')
  t.equal(nearest('baseUrl', ['base_url', 'api_key']), 'base_url')
  t.equal(nearest('gpt-4.1-mni', ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano']), 'gpt-4.1-mini')
  t.equal(nearest('same', ['sama', 'samb']), 'sama', 'the first of equals')
  t.equal(nearest('weather', ['openai', 'xai']), undefined)
  t.equal(nearest('', []), undefined)
})

/** What a watch says, one thing at a time. */
function observe (t: Test, cwd: string, env: Env = {}) {
  const said: Array<Settings | ConfigError> = []
  const waiting: Array<(value: Settings | ConfigError) => void> = []
  const say = (value: Settings | ConfigError): void => {
    const next = waiting.shift()
    if (next === undefined) said.push(value)
    else next(value)
  }
  const watch: SettingsWatch = watchSettings({ env, cwd }, say, say)
  t.teardown(() => watch.close())
  return {
    next: async (): Promise<Settings | ConfigError> => {
      return said.shift() ?? await new Promise(resolve => waiting.push(resolve))
    },
    close: () => watch.close(),
    unheard: said
  }
}

function port (value: Settings | ConfigError): number | string {
  return value instanceof ConfigError ? value.message : value.server.port
}

t.test('a change of the file is seen, also when the file is replaced', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
  const { next, unheard } = observe(t, cwd)
  const write = (text: string): void => writeFileSync(join(cwd, 'headgate.yaml'), text)
  const replace = (text: string): void => {
    writeFileSync(join(cwd, 'new.tmp'), text)
    renameSync(join(cwd, 'new.tmp'), join(cwd, 'headgate.yaml'))
  }
  write('server: {port: 2}')
  t.equal(port(await next()), 2)
  replace('server: {port: 3}')
  t.equal(port(await next()), 3)
  replace('server: {prot: 4}')
  t.equal(port(await next()), 'headgate.yaml:1:10  server.prot  unknown entry; did you mean server.port?')
  replace('server: {port: 3}\nmodels: {a: {alias: b}}\nroutes: {b: [a]}\ntools: {allowed_hosts: [10.0.0.0/99]}')
  t.equal(port(await next()), [
    'headgate.yaml:2:21  models.a.alias  leads back to itself',
    'headgate.yaml:3:14  routes.b[0]  leads back to itself',
    'headgate.yaml:4:25  tools.allowed_hosts[0]  is not a range of addresses'
  ].join('\n'), 'a running gateway refuses what a start would')
  replace('server: {port: 3}')
  t.equal(port(await next()), 3, 'the end of a problem is seen, although nothing differs')
  rmSync(join(cwd, 'headgate.yaml'))
  t.equal(port(await next()), 'headgate.yaml  file not found')
  write('server: {port: 4}')
  t.equal(port(await next()), 4)
  writeFileSync(join(cwd, '.env'), 'PORT=5\n')
  t.equal(port(await next()), 5, 'a change of .env is seen')
  t.same(unheard, [])
})

t.test('SIGHUP reads secrets again', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'keys: [{name: a, key: file:secret}]', secret: 'old' })
  const { next, unheard } = observe(t, cwd)
  writeFileSync(join(cwd, 'secret'), 'new')
  process.kill(process.pid, 'SIGHUP')
  const settings = await next()
  t.equal(settings instanceof ConfigError ? '' : settings.keys[0]?.key.reveal(), 'new')
  t.same(unheard, [])
})

t.test('a change without effect is passed over, and a problem is told once', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
  // Reading the environment is the first thing a reload does.
  const readings: Array<() => void> = []
  const env = Object.defineProperty({}, 'ANY', {
    enumerable: true,
    get: () => readings.shift()?.()
  })
  const { next, unheard } = observe(t, cwd, env)
  const writeAndWait = async (text: string): Promise<void> => {
    const read = new Promise<void>(resolve => readings.push(resolve))
    writeFileSync(join(cwd, 'headgate.yaml'), text)
    await read
  }
  await writeAndWait('# a comment\nserver: {port: 1}')
  await writeAndWait('server: {port: x}')
  await writeAndWait('server: {port: x} # still wrong')
  await writeAndWait('server: {port: 2}')
  t.equal(port(await next()), 'headgate.yaml:1:16  server.port  must be a whole number')
  t.equal(port(await next()), 2)
  t.same(unheard, [])
})

t.test('after it is closed a watch says nothing', async t => {
  const cwd = directory(t, { 'headgate.yaml': 'server: {port: 1}' })
  const closed = observe(t, cwd)
  const open = observe(t, cwd)
  writeFileSync(join(cwd, 'headgate.yaml'), 'server: {port: 2}')
  process.emit('SIGHUP')
  closed.close()
  t.equal(port(await open.next()), 2)
  t.same(closed.unheard, [])
})
