import { providerKinds } from '../../schemas/providers.ts'
import t from 'tap'
import { lines, problems } from '../support/config.ts'

t.test('all problems of a file are reported at once, each with its place', async t => {
  t.same(
    lines(
      t,
      `providers:
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
`
    ),
    [
      'headgate.yaml:2:3  providers.opnai.base_url  is required: this kind has no public address; did you mean providers.openai?',
      'headgate.yaml:5:5  providers.openai.base_ulr  unknown entry; did you mean providers.openai.base_url?',
      'headgate.yaml:6:14  providers.openai.api_key  the variable NOT_SET is not set',
      'headgate.yaml:7:14  providers.openai.retries  must be an integer',
      'headgate.yaml:9:7  providers.openai.timeouts.connect  unknown entry; did you mean providers.openai.timeouts.connect_ms?',
      'headgate.yaml:11:20  providers.groq.on_disconnect  must be one of abort, drain; did you mean drain?',
      'headgate.yaml:12:15  providers.groq.base_url  must be an http:// or https:// address without user, query and fragment',
      'headgate.yaml:13:3  providers["Bad Name"]  a name is lower-case letters, digits, `.`, `_` and `-`',
      'headgate.yaml:16:3  models["opneai/gpt-4.1"]  names a provider that is not configured; did you mean openai/gpt-4.1?',
      'headgate.yaml:18:12  models.fast.alias  names a provider that is not configured; did you mean groq/llama?',
      'headgate.yaml:20:3  routes.fast  is also the name of a model',
      'headgate.yaml:21:3  routes.empty  must not be an empty list',
      'headgate.yaml:23:3  mcp_servers.tickets  a tool server is named `org/name`',
      'headgate.yaml:24:3  mcp_servers["a/b"]  requires a url or a command',
      'headgate.yaml:25:26  mcp_servers["a/c"].command  cannot be combined with url',
      'headgate.yaml:26:26  mcp_servers["a/d"].args  requires command',
      'headgate.yaml:27:21  mcp_servers["a/e"].headers  requires url',
      'headgate.yaml:27:34  mcp_servers["a/e"].headers.x  the file missing.txt cannot be read (ENOENT)',
      'headgate.yaml:29:9  server.port  must be at most 65535',
      'headgate.yaml:30:12  server.workers  must be an integer or `auto`',
      'headgate.yaml:31:9  server.host  must not be empty',
      'headgate.yaml:32:14  server.log_level  must be one of trace, debug, info, warn, error, fatal, silent',
      'headgate.yaml:33:1  limts  unknown entry; did you mean limits?',
      'headgate.yaml:34:8  tools  must be a map'
    ]
  )
})

t.test('a problem has its place, path and message as separate fields', async t => {
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
  t.same(
    lines(t, 'keys:\n- {name: a, key: env:A}\n- {name: a, key: env:B, expires_at: 2030-13-01}', {
      A: 'a',
      B: 'b'
    }),
    [
      'headgate.yaml:3:10  keys[1].name  another key has this name',
      'headgate.yaml:3:37  keys[1].expires_at  is not a date'
    ]
  )
  t.same(
    lines(t, 'providers: {mine: {base_url: 5}}'),
    [
      'headgate.yaml:1:30  providers.mine.base_url  must be an http:// or https:// address without user, query and fragment'
    ],
    'a consequence of a problem is not reported as another problem'
  )
  t.same(lines(t, 'providers: {box: {kind: olama}}'), [
    `headgate.yaml:1:25  providers.box.kind  must be one of ${providerKinds.join(', ')}; did you mean ollama?`
  ])
  t.same(
    lines(t, 'usage: {keep: 5, for: 6}'),
    [
      'headgate.yaml:1:9  usage.keep  unknown entry; known entries: keep_days, keep_rows, expose_cost, projects, keys, exports, routes',
      'headgate.yaml:1:18  usage.for  unknown entry; known entries: keep_days, keep_rows, expose_cost, projects, keys, exports, routes'
    ],
    'if no entry is similar, all known ones are listed'
  )
  t.same(lines(t, 'models:\n  a: {alias: b}\n  b: {alias: a}\nroutes:\n  c: [c]'), [
    'headgate.yaml:2:14  models.a.alias  refers back to itself',
    'headgate.yaml:3:14  models.b.alias  refers back to itself',
    'headgate.yaml:5:7  routes.c[0]  refers back to itself'
  ])
  t.same(lines(t, 'models:\n  fast: {hidden: true}\n  brisk: {alias: fast}'), [
    'headgate.yaml:2:3  models.fast  must begin with the id of a provider and a slash, or be an alias'
  ])
  t.same(
    lines(
      t,
      `providers:
  sandbox: {options: {words_per_second: fast}}
  play: {kind: sandbox, options: {word_per_second: 5}}
keys:
  - {name: a, key: env:KEY, endpoints: [chat, ebmeddings]}`,
      { KEY: 'k' }
    ),
    [
      'headgate.yaml:2:41  providers.sandbox.options.words_per_second  must be a number, 0 or more',
      'headgate.yaml:3:35  providers.play.options.word_per_second  unknown entry; did you mean words_per_second?',
      'headgate.yaml:5:47  keys[0].endpoints[1]  must be one of chat, completions, messages, responses, embeddings, speech, transcriptions, ' +
        'translations, images, ocr, models, key, openapi, health, livez, readyz; did you mean embeddings?'
    ]
  )
  t.same(lines(t, 'server: {port: 1}', { PORT: 'http', OPENAI_API_KEY: 'x', OPENAI_BASE_URL: 'api' }), [
    'environment  OPENAI_BASE_URL  must be an http:// or https:// address without user, query and fragment',
    'environment  PORT  must be an integer'
  ])
})

t.test('a problem in one item of a list does not hide others', async t => {
  t.same(
    lines(
      t,
      `keys:
  - {nmae: a, key: env:A}
  - {name: b}
  - {}
  - {name: c, key: env:A, endpoints: [chat, 5, chatt], expires_at: 2030-13-01}
  - {name: c, key: env:B, models: [5, gpt-*]}
routes:
  r: [5, {}, r, openai/gpt-5, missing/x]`,
      { A: 'a', B: 'b' }
    ),
    [
      'headgate.yaml:2:5  keys[0].name  is missing',
      'headgate.yaml:2:6  keys[0].nmae  unknown entry; did you mean keys[0].name?',
      'headgate.yaml:3:5  keys[1].key  is missing',
      'headgate.yaml:4:5  keys[2].name  is missing',
      'headgate.yaml:4:5  keys[2].key  is missing',
      'headgate.yaml:5:45  keys[3].endpoints[1]  must be a string',
      'headgate.yaml:5:48  keys[3].endpoints[2]  must be one of chat, completions, messages, responses, embeddings, speech, transcriptions, ' +
        'translations, images, ocr, models, key, openapi, health, livez, readyz; did you mean chat?',
      'headgate.yaml:5:68  keys[3].expires_at  is not a date',
      'headgate.yaml:6:12  keys[4].name  another key has this name',
      'headgate.yaml:6:36  keys[4].models[0]  must be a string',
      'headgate.yaml:6:39  keys[4].models[1]  only `*` and `provider/*` are patterns',
      'headgate.yaml:8:7  routes.r[0]  must be a string',
      'headgate.yaml:8:10  routes.r[1]  must be a string',
      'headgate.yaml:8:14  routes.r[2]  refers back to itself',
      'headgate.yaml:8:31  routes.r[4]  names a provider that is not configured'
    ]
  )
})

t.test('sections known from other gateways get a hint about the entry to use here', async t => {
  t.match(lines(t, 'model_list: []\nlitellm_settings: {}\nrouter_settings: {}\ngeneral_settings: {}'), [
    /^headgate\.yaml:1:1 {2}model_list {2}is a LiteLLM setting: name the servers in `providers`/,
    /litellm_settings {2}is a LiteLLM setting/,
    /router_settings/,
    /general_settings/
  ])
})

t.test('merge keys are refused with what to write in their place', async t => {
  t.same(lines(t, 'providers:\n  a: &a {kind: ollama}\n  b: {<<: *a}\n  c: *a'), [
    'headgate.yaml:3:3  providers.b.base_url  is required: this kind has no public address',
    'headgate.yaml:3:7  providers.b["<<"]  merge keys are not read: write the entries, or name the whole map (`*name`)'
  ])
})
