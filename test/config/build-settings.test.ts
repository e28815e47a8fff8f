import t from 'tap'
import { createModels } from '../../lib/models/create-models.ts'
import { ids, lines, load, provider } from '../support/config.ts'

t.test('every entry of the file is mapped to its name in code', async t => {
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
deferred: {for_all_providers: true}
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
  t.equal(settings.deferred.forAllProviders, true)
  t.same(settings.tools.allowedHosts, ['10.0.0.0/8'])
})

t.test('metrics are off by default, and have their own port', async t => {
  t.equal(load(t, 'metrics:\n').metrics, undefined)
  t.same(load(t, 'metrics: {}').metrics, { host: '127.0.0.1', port: 9464 })
  t.same(load(t, 'metrics: {port: 1}', { HEADGATE_METRICS_HOST: '::1' }).metrics, { host: '::1', port: 1 })
  t.same(load(t, 'server: {port: 0}', { HEADGATE_METRICS_PORT: '0' }).metrics, { host: '127.0.0.1', port: 0 })
  const message = 'is the port of the API (server.port); metrics need a separate port'
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
    [
      'models: {openai/gpt-5: {attributes: {speed: 2}}}',
      '1:45  models["openai/gpt-5"].attributes.speed  must be at most 1'
    ],
    ['routes: {a: text}', '1:13  routes.a  must be a list or a map'],
    ['routes: {a: {models: []}}', '1:14  routes.a.models  must not be an empty list'],
    ['routes: {a: {strategy: weighted}}', '1:10  routes.a.models  is missing'],
    [
      'routes: {a: {models: [openai/gpt-5], strategy: fastes}}',
      '1:48  routes.a.strategy  must be one of in_order, weighted, cheapest, fastest, balanced; did you mean fastest?'
    ],
    ['routes: {a: {models: [5]}}', '1:23  routes.a.models[0]  must be a string or a map'],
    [
      'routes: {a: {models: [{model: openai/gpt-5, wight: 1}]}}',
      '1:45  routes.a.models[0].wight  unknown entry; did you mean routes.a.models[0].weight?'
    ],
    [
      'routes: {a: {models: [{model: openai/gpt-5, weight: -1}]}}',
      '1:53  routes.a.models[0].weight  must be at least 0'
    ],
    [
      'limits: {default_key_limits: {budget: {usd: -1}}}',
      '1:45  limits.default_key_limits.budget.usd  must be more than 0'
    ],
    ['routes: {a: {models: [a]}}', '1:23  routes.a.models[0]  refers back to itself'],
    [
      'routes: {a: {models: [{model: opneai/gpt-5}]}}',
      '1:23  routes.a.models[0]  names a provider that is not configured; did you mean openai/gpt-5?'
    ]
  ]
  for (const [yaml, problem] of problems) t.same(lines(t, yaml), [`headgate.yaml:${problem}`], yaml)
})

t.test('models of a disabled provider are valid but not available', async t => {
  const settings = load(t, `
providers: {gpu: {enabled: false, kind: vllm}, ollama: {}}
models: {gpu/llama: {hidden: true}, ollama/qwen: {hidden: true}, fast: {alias: gpu/llama}}
`)
  t.same(settings.models.map(({ id }) => id), ['ollama/qwen', 'fast'])
  t.same(createModels(settings, new Set(ids(settings))).routes('fast'), [])
})

t.test('a provider may have several keys, each a reference or a map with a weight', async t => {
  const file = `
providers:
  openai:
    api_keys: [env:A, {key: env:B, weight: 2}]
`
  const { apiKey, apiKeys } = provider(load(t, file, { A: 'a', B: 'b', OPENAI_API_KEY: 'other' }), 'openai')
  t.equal(apiKey, undefined, 'the variable of the provider is then ignored')
  t.same(apiKeys?.map(({ key, weight }) => [key.reveal(), weight]), [['a', 1], ['b', 2]])
  t.match(lines(t, file, { A: 'a' }), [/providers.openai.api_keys\[1\].key {2}the variable B is not set/])
  t.match(lines(t, 'providers: {openai: {api_keys: [sk-123]}}'), [
    /api_keys\[0\] {2}must be env:NAME/
  ])
  t.match(lines(t, 'providers: {openai: {api_key: env:A, api_keys: [env:A]}}', { A: 'a' }), [
    /api_keys {2}cannot be combined with api_key/
  ])
})
