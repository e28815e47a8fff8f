import t from 'tap'
import { readSettings } from '../../lib/config/read-settings.ts'
import { formatWarnings } from '../../lib/config/problems.ts'
import { directory, failure, lines, load } from '../support/config.ts'

t.test('model names must be known and not refer back to themselves', async t => {
  t.same(
    lines(
      t,
      `providers: {gpu: {kind: vllm}}
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
  - {name: x, key: env:K, models: ['*', gpu/*, opnai/*, gpt-*, openai/gpt-*, t, vlm/x]}`,
      { K: 'k' }
    ),
    [
      'headgate.yaml:3:14  models.a.alias  refers back to itself',
      'headgate.yaml:4:3  models.fast  must begin with the id of a provider and a slash, or be an alias',
      'headgate.yaml:5:18  models.wrong.alias  must be a string',
      'headgate.yaml:6:32  models.named.display_name  cannot be combined with alias',
      'headgate.yaml:6:52  models.named.price  cannot be combined with alias',
      'headgate.yaml:7:37  models["gpu/llama"].capabilities.tools  must be true or false',
      'headgate.yaml:7:40  models["gpu/llama"].capabilities.vison  must be one of text, vision, image_generation, audio, ' +
        'tools, structured_output, streaming, thinking, input_token_limit, output_token_limit; did you mean vision?',
      'headgate.yaml:7:72  models["gpu/llama"].capabilities.input_token_limit  must be an integer',
      'headgate.yaml:8:3  models["ollama/qwen"]  names a provider that is not configured',
      'headgate.yaml:10:7  routes.r[0]  refers back to itself',
      'headgate.yaml:11:18  routes.s[1]  refers back to itself',
      'headgate.yaml:14:48  keys[0].models[2]  names a provider that is not configured; did you mean openai/*?',
      'headgate.yaml:14:57  keys[0].models[3]  only `*` and `provider/*` are patterns',
      'headgate.yaml:14:64  keys[0].models[4]  only `*` and `provider/*` are patterns',
      'headgate.yaml:14:81  keys[0].models[6]  names a provider that is not configured'
    ]
  )
  t.same(
    lines(t, 'routes: {t: [gpt-55, gpt-5]}'),
    ['headgate.yaml:1:14  routes.t[0]  is unknown to every enabled provider; did you mean gpt-5?'],
    'a name without a prefix is known where every model is'
  )
})

t.test('a wildcard in a target needs one in the name, and routes name models', async t => {
  t.same(lines(t, `providers: {gpu: {kind: vllm}}
models: {"fast-*": {alias: gpu/*}, fast: {alias: gpu/*}, "a-*": {alias: "gpu/*-*"}}
routes: {all: [gpu/x, gpu/*]}`), [
    'headgate.yaml:2:50  models.fast.alias  has more wildcards than its name: each `*` stands for what one in the name matched',
    'headgate.yaml:2:73  models["a-*"].alias  has more wildcards than its name: each `*` stands for what one in the name matched',
    'headgate.yaml:3:23  routes.all[1]  must name one model: only aliases may have wildcards'
  ])
})

t.test('of a target with wildcards, only the provider is checked', async t => {
  const cwd = directory(t, { 'headgate.yaml': `providers: {gpu: {kind: vllm, enabled: false}, openai: {}}
models: {"*": {alias: openai/*}, "my-*": {alias: "*"}, "private-*": {alias: gpu/*}}` })
  t.same(formatWarnings(readSettings({ env: { OPENAI_API_KEY: 'k' }, cwd }).warnings), [
    'headgate.yaml:2:77  models["private-*"].alias  warning: belongs to a disabled provider, so it is never tried'
  ])
  t.same(lines(t, 'models: {"a-*": {alias: nobody/*}}'), [
    'headgate.yaml:1:25  models["a-*"].alias  names a provider that is not configured'
  ])
})

t.test('a weight that nothing uses is a warning', async t => {
  const cwd = directory(t, { 'headgate.yaml': `providers: {gpu: {kind: vllm}}
routes:
  a: {models: [{model: gpu/x, weight: 3}, {model: gpu/y, weight: 1}]}
  b: {strategy: weighted, models: [{model: gpu/x, weight: 3}, gpu/y]}` })
  t.same(formatWarnings(readSettings({ env: {}, cwd }).warnings), [
    'headgate.yaml:3:31  routes.a.models[0].weight  warning: has no effect: only `strategy: weighted` uses it'
  ])
})

t.test('a likely mistake is a warning, not a problem', async t => {
  const cwd = directory(t, { 'headgate.yaml': `providers:
  gpu: {kind: vllm, options: {pace: 1}}
  azure: {kind: azure-openai, base_url: 'http://x', options: {api_version: '1', pace: 1}}
models: {fast: {alias: openai/gpt-55}}
routes: {all: [openai/gpt-5, sandbox/eco, gpu/anything, azure/mine, fast], none: [off, openai/gpt-5], off: [xai/grok-4.3], some: [none, gpu/x]}
keys: [{name: a, key: env:K, expires_at: 2020-01-01, models: [anthropic/of-my-own]}]` })
  const { settings, warnings } = readSettings({ env: { K: 'k'.repeat(24), HEADGATE_SANDBOX: 'on' }, cwd })
  t.same(settings.routes.length, 4)
  const expected = [
    'headgate.yaml:2:31  providers.gpu.options.pace  warning: has no effect for this kind',
    'headgate.yaml:3:81  providers.azure.options.pace  warning: has no effect for this kind',
    'headgate.yaml:4:24  models.fast.alias  warning: is not in the catalogue; its provider may know it; did you mean openai/gpt-5?',
    'headgate.yaml:5:16  routes.all[0]  warning: belongs to a disabled provider, so it is never tried',
    'headgate.yaml:5:30  routes.all[1]  warning: is not in the catalogue; its provider may know it; did you mean sandbox/echo?',
    'headgate.yaml:5:76  routes.none  warning: refers only to disabled providers',
    'headgate.yaml:5:103  routes.off  warning: refers only to disabled providers',
    'headgate.yaml:6:42  keys[0].expires_at  warning: is in the past',
    'headgate.yaml:6:63  keys[0].models[0]  warning: is not in the catalogue; its provider may know it'
  ]
  t.same(formatWarnings(warnings), expected)
  const env = { K: 'k'.repeat(24), HEADGATE_SANDBOX: 'on', PORT: 'x' }
  const error = failure(() => readSettings({ env, cwd }))
  t.same(formatWarnings(error.warnings), expected, 'also next to a problem')
  t.same(error.problems.length, 1)
  t.same(
    lines(t, 'providers: {a: {kind: azure-openai, base_url: "http://x", options: {api_version: 20241021}}}'),
    ['headgate.yaml:1:82  providers.a.options.api_version  must be a string']
  )
})

t.test('settings of a route target must be valid in a request to its model', async t => {
  const file = (settings: string): string => `
providers: {sandbox: {}}
routes: {fast: {models: [{model: sandbox/chat, settings: ${settings}}]}}
`
  t.same(load(t, file('{temperature: 0.2, stop_sequences: [x]}')).routes, [
    {
      name: 'fast',
      models: ['sandbox/chat'],
      strategy: 'in_order',
      weights: { 'sandbox/chat': 1 },
      defaults: { 'sandbox/chat': { temperature: 0.2, stop: ['x'] } }
    }
  ])
  t.match(lines(t, file('{messages: hi}')), [
    /models\[0\].settings.messages {2}cannot be set for one model of a route/
  ])
  t.match(lines(t, file('{temprature: 1}')), [/settings.temprature {2}cannot be set.*temperature/])
  t.match(lines(t, file('{temperature: 3}')), [/settings.temperature {2}is not valid in a request/])
  t.match(lines(t, file('{top_logprobs: 3}')), [/settings.top_logprobs {2}requires logprobs/])
})
