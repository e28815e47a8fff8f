import t from 'tap'
import { ValueCounter } from '../../lib/json/parse-bounded.ts'
import { readSettings } from '../../lib/config/read-settings.ts'
import { formatWarnings } from '../../lib/config/problems.ts'
import { lines, load } from '../support/config.ts'

t.test('the proxy for tools is a URL, with its credentials in a separate entry', async t => {
  const text = 'headgate.yaml:1:16  tools.proxy  must be an http:// or https:// address without user and path'
  for (const proxy of ['none', 'http://me:secret@proxy', 'proxy:3128']) {
    t.same(lines(t, `tools: {proxy: "${proxy}"}`), [text], proxy)
  }
  t.same(lines(t, 'tools: {proxy: "http://a:b"}'), ['headgate.yaml:1:16  tools.proxy  is not a valid URL'])
  t.same(lines(t, 'tools: {proxy_credentials: env:C}', { C: 'me:secret' }), [
    'headgate.yaml:1:9  tools.proxy_credentials  requires proxy'
  ])
  const { tools } = load(t, 'tools: {proxy: "http://proxy:1", proxy_credentials: env:C}', { C: 'me:secret' })
  t.equal(tools.proxy, 'http://proxy:1')
  t.equal(tools.proxyCredentials?.reveal(), 'me:secret')
})

t.test('allowed hosts that match nothing are refused', async t => {
  const good = [
    'tools.internal',
    'tools.internal:8080',
    'localhost',
    '10.0.0.1',
    '10.0.0.1:80',
    '10.0.0.0/8',
    '::1',
    '::1:80',
    'fd00::/8',
    'a_b'
  ]
  t.same(
    load(t, `tools: {allowed_hosts: [${good.map(host => `'${host}'`).join(', ')}]}`).tools.allowedHosts,
    good
  )
  const bad: ReadonlyArray<readonly [host: string, message: string]> = [
    ['10.0.0.0/33', 'is not a range of addresses'],
    ['10.0.0.256/8', 'is not a range of addresses'],
    ['tools.internal/8', 'is not a range of addresses'],
    ['::ffff:10.0.0.0/104', 'must be an IPv4 range'],
    ['10.0.0.256', 'is not a valid address'],
    ['10.0.0', 'is not a valid address'],
    ['fe80::zz', 'is not a valid address'],
    ['host:http', 'has an invalid port'],
    ['host:70000', 'has an invalid port'],
    ['*.internal', 'must be a host, an address or a range (10.0.0.0/8)']
  ]
  t.same(
    lines(t, `tools:\n  allowed_hosts:\n${bad.map(([host]) => `    - '${host}'\n`).join('')}`),
    bad.map(
      ([, message], index) => `headgate.yaml:${index + 3}:7  tools.allowed_hosts[${index}]  ${message}`
    )
  )
})

t.test('hosts that no server can listen on are refused', async t => {
  for (const host of ['0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'gateway-1.example']) {
    t.equal(load(t, `server: {host: '${host}'}\ndashboard: false`).server.host, host)
  }
  for (const host of ['a\\0b', 'a b', 'http://a', 'a/b', '[::1]', 'a\\nb', 'é']) {
    t.same(
      lines(t, `server: {host: "${host}"}`),
      ['headgate.yaml:1:16  server.host  must be an address or a name of this machine'],
      host
    )
  }
  for (const host of ['localhost:8080', '127.0.0.1:8080', '::g']) {
    t.same(
      lines(t, `server: {host: '${host}'}`),
      ['headgate.yaml:1:16  server.host  is not a valid address; the port is `server.port`'],
      host
    )
  }
})

t.test('beyond loopback the dashboard requires TLS or an explicit opt-out', async t => {
  for (const safe of [
    '{host: 127.0.0.1}',
    '{host: 0.0.0.0, trust_proxy: true}',
    '{host: 0.0.0.0, tls: {certificate: a, key: b}}',
    '{host: 0.0.0.0}\ndashboard: false',
    '{host: 0.0.0.0}\ndashboard: {insecure: true}'
  ]) {
    t.ok(load(t, `server: ${safe}`), safe)
  }
  t.match(lines(t, "server: {host: '0.0.0.0'}"), [
    /^headgate\.yaml:1:16 {2}server\.host {2}is reachable from other machines.*`server\.tls`.*`server\.trust_proxy.*`dashboard: false`.*`dashboard\.insecure/
  ])
})

t.test('a date that does not exist is not an expiry', async t => {
  t.same(
    lines(
      t,
      'keys: [{name: a, key: env:K, stages: [pi]}]\nstages: [{name: pii, use: pattern, patterns: [email]}]',
      { K: 'k' }
    ),
    ['headgate.yaml:1:39  keys[0].stages[0]  is not the name of a guard in stages; did you mean pii?']
  )
  t.same(lines(t, 'keys: [{name: a, key: env:K, mcp_servers: [tickets]}]', { K: 'k' }), [
    'headgate.yaml:1:44  keys[0].mcp_servers[0]  must be `org/name` or `*`'
  ])
  const keyUntil = (day: string): string => `keys: [{name: a, key: env:K, expires_at: ${day}}]`
  for (const day of [
    '2030-02-31',
    '2030-02-29',
    '2030-04-31T00:00:00Z',
    '2030-06-31T23:00:00+02:00',
    '2030-00-10'
  ]) {
    t.same(
      lines(t, keyUntil(day), { K: 'k' }),
      ['headgate.yaml:1:42  keys[0].expires_at  is not a date'],
      day
    )
  }
  t.match(load(t, keyUntil('2032-02-29'), { K: 'k' }).keys, [{ expiresAtMs: Date.UTC(2032, 1, 29) }])
})

t.test('URLs and headers that are invalid in requests are refused', async t => {
  t.same(
    lines(
      t,
      `providers:
  openai: {headers: {X-Team: env:A, Connection: env:A, x-team: env:A, host: env:A}}
mcp_servers:
  a/b: {url: 'http://x', headers: {transfer-encoding: env:A}}
tools: {registry_url: 'http://x:99999'}`,
      { A: 'a' }
    ),
    [
      'headgate.yaml:2:37  providers.openai.headers.Connection  is a header of the connection and cannot be set',
      'headgate.yaml:2:56  providers.openai.headers.x-team  is a duplicate',
      'headgate.yaml:4:36  mcp_servers["a/b"].headers.transfer-encoding  is a header of the connection and cannot be set',
      'headgate.yaml:5:23  tools.registry_url  is not a valid URL'
    ]
  )
})

t.test('body recording has one entry per project, with patterns that match in one pass', async t => {
  const { calls } = load(
    t,
    "calls: {keep_bodies: [{project: Support, redact: {fields: [ssn], patterns: ['\\d{4}']}}, {project: '*', readable_by: owner}]}"
  )
  t.same(calls.keepBodies, [
    {
      project: 'Support',
      keepMs: 604_800_000,
      maxBytes: 65_536,
      redact: { fields: ['ssn'], patterns: ['\\d{4}'] },
      readableBy: 'admin'
    },
    {
      project: '*',
      keepMs: 604_800_000,
      maxBytes: 65_536,
      redact: { fields: [], patterns: [] },
      readableBy: 'owner'
    }
  ])
  t.same(
    lines(
      t,
      "calls: {keep_bodies: [{project: a}, {project: a, redact: {patterns: ['a', '(?=a)b']}}, {project: b, readable_by: viewer}]}"
    ),
    [
      'headgate.yaml:1:47  calls.keep_bodies[1].project  another entry has this project',
      'headgate.yaml:1:75  calls.keep_bodies[1].redact.patterns[1]  has a lookaround or a group with flags, which cannot be searched for in linear time',
      'headgate.yaml:1:114  calls.keep_bodies[2].readable_by  must be one of owner, admin, member'
    ]
  )
})

t.test('prompts and answers in spans are redacted with patterns that match in one pass', async t => {
  t.match(load(t, 'telemetry: {otlp: {content: {}}}').telemetry, {
    otlp: { content: { projects: ['*'], maxBytes: 8192, redact: { fields: [], patterns: [] } } }
  })
  t.same(lines(t, "telemetry: {otlp: {content: {redact: {patterns: ['(?=a)b']}}}}"), [
    'headgate.yaml:1:50  telemetry.otlp.content.redact.patterns[0]  has a lookaround or a group with flags, which cannot be searched for in linear time'
  ])
})

t.test('a trace URL contains the id once and can be opened in a browser', async t => {
  for (const url of [
    'https://x.test/{trace_id}',
    'http://localhost:3000/explore?id={trace_id}&tab=a',
    'https://x.test/#/t/{trace_id}'
  ]) {
    t.match(load(t, `telemetry: {trace_url: '${url}'}`).telemetry, { traceUrl: url })
  }
  for (const url of [
    'https://x.test/',
    'javascript:alert({trace_id})',
    'https://{trace_id}.test/',
    'https://a@x.test/{trace_id}',
    'https://x.test/{trace_id}/{trace_id}',
    'https://x.test/{id}/{trace_id}',
    'https://x.test/ {trace_id}'
  ]) {
    t.match(
      lines(t, `telemetry: {trace_url: '${url}'}`),
      [/telemetry\.trace_url {2}must be an http:\/\/ or https:\/\/ address with \{trace_id\} once/],
      url
    )
  }
})

t.test('usage settings have one entry per project and key', async t => {
  const { usage } = load(
    t,
    'usage: {expose_cost: false, projects: [{project: Support}, {project: b, expose_cost: false}]}'
  )
  t.same(
    [usage.exposeCost, usage.projects],
    [
      false,
      [
        { project: 'Support', exposeCost: true, tags: [] },
        { project: 'b', exposeCost: false, tags: [] }
      ]
    ]
  )
  t.same(lines(t, 'usage: {projects: [{project: a}, {project: b}, {project: a}]}'), [
    'headgate.yaml:1:58  usage.projects[2].project  another entry has this project'
  ])
  t.same(lines(t, 'usage: {keys: [{key: a}, {key: a}]}'), [
    'headgate.yaml:1:32  usage.keys[1].key  another entry has this key'
  ])
})

t.test('a provider without a required key gets a warning', async t => {
  const warnings = (text: string, env: Record<string, string> = {}): readonly string[] => {
    const { warnings } = readSettings({ env, cwd: t.testdir({ 'headgate.yaml': text }) })
    return warnings.map(({ path, message }) => `${path} ${message}`)
  }
  const keyless =
    'providers: {openai: {}, mistral: {api_key: env:K}, vllm: {}, xai: {enabled: false}, groq: {headers: {authorization: env:K}}, own: {kind: openai, base_url: http://127.0.0.1:1/v1}}'
  t.same(warnings(keyless, { K: 'k' }), [
    'providers.openai has no api_key, so the provider will refuse calls without `X-Provider-Key`'
  ])
  t.same(warnings(keyless, { K: 'k', OPENAI_API_KEY: 'sk' }), [])
})

t.test('a request has room for as many messages and parts as the limits say, or there is a warning', async t => {
  const read = (limits: object): ReturnType<typeof readSettings> =>
    readSettings({ env: {}, cwd: t.testdir({ 'headgate.yaml': JSON.stringify({ limits }) }) })
  const costOf = (count: number, isParts: boolean): number => {
    const content = isParts ? Array.from({ length: count }, () => ({ type: 'text', text: 'a' })) : 'a'
    const messages = Array.from({ length: isParts ? 1 : count }, () => ({ role: 'user', content }))
    const counter = new ValueCounter(Infinity)
    counter.push(Buffer.from(JSON.stringify({ model: 'm', messages })))
    return counter.parseCost
  }
  const { limits } = read({}).settings
  t.ok(costOf(limits.chatMessages, false) <= limits.jsonValues, 'messages by default')
  t.ok(costOf(limits.chatParts, true) <= limits.jsonValues, 'parts by default')

  const warnings = (limits: object): readonly string[] =>
    read(limits).warnings.map(({ path, message }) => `${path} ${message}`)
  const most = 24_998
  t.same(warnings({ chat_messages: 20_000 }), [
    'limits.chat_messages cannot be reached in a request: limits.json_values (500000) has room for 12498, each with one word'
  ])
  t.match(warnings({ chat_parts: most + 1, json_values: 1_000_000 }), [/^limits\.chat_parts .* room for 24998,/])
  t.same(warnings({ chat_messages: most, chat_parts: most, json_values: 1_000_000 }), [])
  t.ok(costOf(most, false) <= 1_000_000 && costOf(most + 2, false) > 1_000_000, 'the number is right')
  t.same(warnings({ json_values: 1000 }), [], 'a default needs no change')
})

t.test('guards have unique names and searchable patterns', t => {
  const { guards } = load(
    t,
    "stages: [{name: cards, use: pattern, patterns: [card_number, {name: ticket, match: 'T-\\d+'}]}]"
  )
  t.same(guards, [
    {
      name: 'cards',
      use: 'pattern',
      at: ['request', 'answer', 'tool_call', 'tool_result'],
      patterns: ['card_number', { name: 'ticket', match: 'T-\\d+', maxLength: 256 }]
    }
  ])
  t.same(
    lines(
      t,
      "stages: [{name: a, use: pattern, patterns: [emial]}, {name: a, use: pattern, patterns: [{name: b, match: '(?=a)'}], only: {endpoints: [models]}}]"
    ),
    [
      'headgate.yaml:1:45  stages[0].patterns[0]  must be one of card_number, iban, email, phone, ip_address, us_ssn, uk_nino, es_dni, fr_insee, de_tax_id, api_key, or a map of `name` and `match`; did you mean email?',
      'headgate.yaml:1:61  stages[1].name  another entry has this name',
      'headgate.yaml:1:106  stages[1].patterns[0].match  has a lookaround or a group with flags, which cannot be searched for in linear time',
      'headgate.yaml:1:136  stages[1].only.endpoints[0]  must be one of chat, completions, messages, responses, embeddings, speech, transcriptions, translations, images, ocr'
    ]
  )
  t.end()
})

t.test('a reversible guard masks, and may unmask tool arguments and inspect tool results', t => {
  t.match(
    load(t, 'stages: [{name: a, use: pattern, patterns: [email], reversible: true, unmask_for: [server]}]')
      .guards,
    [{ reversible: true, unmaskFor: ['server'] }]
  )
  t.same(
    lines(
      t,
      'stages: [{name: a, use: pattern, patterns: [email], action: refuse, reversible: true}, {name: b, use: pattern, patterns: [email], at: [request], unmask_for: [server]}, {name: c, use: ./mine.js, reversible: true}]'
    ),
    [
      'headgate.yaml:1:81  stages[0].reversible  needs `action: mask`',
      'headgate.yaml:1:146  stages[1].unmask_for  needs `reversible: true`',
      'headgate.yaml:1:195  stages[2].reversible  `use: ./mine.js` has no such entry'
    ]
  )
  t.same(
    lines(
      t,
      'stages: [{name: b, use: pattern, patterns: [email], at: [request], reversible: true, unmask_for: [server]}]'
    ),
    ['headgate.yaml:1:86  stages[0].unmask_for  needs `tool_result` in `at`']
  )
  t.end()
})

t.test('a guard that runs while the request is sent can only refuse it', t => {
  t.match(load(t, 'stages: [{name: a, use: ./mine.js, action: refuse, during: true}]').guards, [
    { during: true }
  ])
  t.same(
    lines(
      t,
      'stages: [{name: a, use: ./mine.js, during: true}, {name: b, use: ./mine.js, action: refuse, at: [answer], during: true}, {name: c, use: pattern, patterns: [email], action: refuse, during: true}]'
    ),
    [
      'headgate.yaml:1:44  stages[0].during  needs `action: refuse`: the request is sent as it is',
      'headgate.yaml:1:115  stages[1].during  needs `request` or `tool_result` in `at`',
      'headgate.yaml:1:181  stages[2].during  `use: pattern` has no such entry'
    ]
  )
  t.end()
})

t.test('a guard requires the entries of its kind and refuses others', t => {
  t.match(
    load(t, 'stages: [{name: mine, use: ./stages/mine.js, options: {word: a}, timeout_ms: 5}]').guards,
    [{ use: /\/stages\/mine\.js$/, options: { word: 'a' }, timeoutMs: 5 }]
  )
  t.same(
    lines(
      t,
      'stages: [{name: a, use: pattern, timeout_ms: 5}, {name: b, use: ./mine.js, patterns: [email]}]'
    ),
    [
      'headgate.yaml:1:10  stages[0]  `use: pattern` needs `patterns`',
      'headgate.yaml:1:34  stages[0].timeout_ms  `use: pattern` has no such entry',
      'headgate.yaml:1:76  stages[1].patterns  `use: ./mine.js` has no such entry'
    ]
  )
  t.same(
    lines(
      t,
      'providers: {anthropic: {api_key: env:KEY}}\nstages: [{name: a, use: moderation, model: openai/omni}, {name: b, use: moderation, model: anthropic/x, action: mask}]',
      { KEY: 'k' }
    ),
    [
      'headgate.yaml:2:44  stages[0].model  must be `provider/model`, of a provider of this configuration that is enabled',
      'headgate.yaml:2:92  stages[1].model  belongs to a provider without a moderation API',
      'headgate.yaml:2:113  stages[1].action  `use: moderation` can only refuse or report'
    ]
  )
  t.same(lines(t, 'stages: [{name: a, use: mine.js}]'), [
    'headgate.yaml:1:25  stages[0].use  must be `pattern`, `moderation`, `prompt_injection`, `presidio`, `webhook`, or the path of a module (./stages/mine.js)'
  ])
  t.end()
})

t.test('prompt cache marks are only for Anthropic', t => {
  t.match(load(t, 'providers: {anthropic: {cache_marks: auto}}').providers, [{ cacheMarks: 'auto' }])
  t.same(lines(t, 'providers: {openai: {api_key: env:KEY, cache_marks: auto}}', { KEY: 'k' }), [
    'headgate.yaml:1:53  providers.openai.cache_marks  is for providers of the Messages API: set `off`, or leave it out'
  ])
  t.end()
})

t.test('an export has a directory or a bucket, and known columns', async t => {
  const s3 = 's3: {bucket: example, access_key: env:A, secret_key: env:B}'
  const { usage } = load(
    t,
    `usage: {exports: {files: {directory: out, columns: [id, at_ms]}, cloud: {${s3}}}}`,
    { A: 'id', B: 'secret' }
  )
  t.match(usage.exports, {
    files: { directory: /^\/.*out$/, format: 'csv', gzip: false, every: 'day', columns: ['id', 'at_ms'] },
    cloud: { s3: { bucket: 'example', region: 'us-east-1', prefix: '' } }
  })
  t.same(
    lines(
      t,
      `usage: {exports: {a: {}, b: {directory: out, ${s3}}, c: {directory: out, columns: [id, cost_usd]}}}`,
      { A: 'id', B: 'secret' }
    ),
    [
      'headgate.yaml:1:19  usage.exports.a  requires a directory or s3',
      'headgate.yaml:1:46  usage.exports.b.s3  cannot be combined with directory',
      'headgate.yaml:1:142  usage.exports.c.columns[1]  is not a column of usage records'
    ]
  )
  t.match(
    lines(
      t,
      'usage: {exports: {a: {s3: {bucket: Example, prefix: /x, access_key: AKIA, secret_key: env:B}}}}',
      { B: 'secret' }
    ).join('\n'),
    /access_key {2}must be env:NAME/
  )
  t.match(
    lines(t, 'usage: {exports: {a: {s3: {bucket: Ex, prefix: /x, access_key: env:B, secret_key: env:B}}}}', {
      B: 'secret'
    }),
    [/bucket {2}must be 3 to 63 lower-case letters/, /prefix {2}must be empty or folders such as usage\//]
  )
})

t.test(
  'budgets of tags, models and end users follow the rules of key budgets; those of end users must renew',
  async t => {
    t.same(
      lines(
        t,
        `
limits:
  tags: [{ tag: a, budget: { usd: 1 }, budgets: [{ usd: 2 }] }, { tag: a, budget: { usd: 1, every: 7d } }]
  models: [{ model: m, budget: { usd: 1 } }, { model: m, budget: { usd: 1 } }]
end_users: { default_budget: { usd: 1, per: total }, budgets: [{ usd: 1, every: 500d, from: 2030-01-01T00:00:00Z }] }
usage: { routes: [{ route: r, tags: [] }, { route: r, tags: [] }] }
`
      ).map(line => line.replace(/^\S+ +/, '')),
      [
        'limits.tags[0].budgets  cannot be set together with `budget`: put all budgets into `budgets`',
        'limits.tags[1].tag  another entry has this tag',
        'limits.tags[1].budget.every  needs `from`, the time at which one of these periods begins, such as 2030-01-31T00:00:00Z',
        'limits.models[1].model  another entry has this model',
        'end_users.default_budget.per  must be a period that ends: hour, day, week or month',
        'end_users.budgets  cannot be set together with `default_budget`: put all budgets into `budgets`',
        'end_users.budgets[0].every  must be at most 366d',
        'usage.routes[1].route  another entry has this route'
      ]
    )
  }
)

t.test('budgets of tags, models and end users start at a quarter of an hour', async t => {
  const [at, off] = ['2030-01-01T05:45:00+02:00', '2030-01-01T00:05:00Z']
  const reason = 'this usage is totalled in 15-minute intervals'
  const [every, from] = [
    `every  must be a multiple of 15m, such as 15m, 6h or 30d: ${reason}`,
    `from  must be at a quarter of an hour, such as 2030-01-31T00:15:00Z: ${reason}`
  ]
  t.same(
    lines(
      t,
      `
keys: [{ name: k, key: env:K, limits: { budget: { usd: 1, every: 10m, from: '${off}' } } }]
limits:
  tags: [{ tag: a, budget: { usd: 1, every: 45m, from: '${at}' } }, { tag: b, budget: { usd: 1, every: 10m, from: '${at}' } }]
  models: [{ model: m, budgets: [{ usd: 1, per: day }, { usd: 1, every: 1h, from: '${off}' }] }]
end_users: { budgets: [{ usd: 1, every: 20s, from: '${off}' }] }
`,
      { K: 'k' }
    ).map(line => line.replace(/^\S+ +/, '')),
    [
      `limits.tags[1].budget.${every}`,
      `limits.models[0].budgets[1].${from}`,
      `end_users.budgets[0].${every}`,
      `end_users.budgets[0].${from}`
    ]
  )
})

t.test('addresses with the path of an endpoint, and services by other names, are recognised', async t => {
  const cwd = t.testdir({ 'headgate.yaml': `providers:
  a: {kind: vllm, base_url: "http://h/v1/chat/completions"}
  b: {kind: vllm, base_url: "http://h/v1/messages-of-mine"}` })
  t.same(formatWarnings(readSettings({ env: {}, cwd }).warnings), [
    'headgate.yaml:2:29  providers.a.base_url  warning: ends in the path of an endpoint, which each request adds: leave it out'
  ])
  const kinds = ['azure', 'gemini', 'claude', 'grok', 'openai_like', 'bedrock', 'vertex_ai', 'nonsense']
  const found = kinds.flatMap(kind => lines(t, `providers:\n  p: {kind: ${kind}}`))
  t.same(
    found.map(line => /did you mean (.*)\?$|kind  (.*) is not supported/.exec(line)?.slice(1).find(Boolean)),
    [
      'azure-openai',
      'google',
      'anthropic',
      'xai',
      'openai-compatible',
      'Amazon Bedrock',
      'Google Vertex AI',
      undefined
    ]
  )
  t.same(lines(t, 'providers:\n  gemini: {}\n  azure: {}\n  mine: {}\n  bedrock: {}'), [
    'headgate.yaml:2:3  providers.gemini.base_url  is required: this kind has no public address; did you mean kind: google?',
    'headgate.yaml:3:3  providers.azure.base_url  is required: this kind has no public address; did you mean kind: azure-openai?',
    'headgate.yaml:4:3  providers.mine.base_url  is required: this kind has no public address',
    'headgate.yaml:5:3  providers.bedrock.base_url  is required: Amazon Bedrock has no kind of its own'
  ])
})

t.test('a data folder that a shell would have to find is refused', async t => {
  t.same(lines(t, 'server: {data_dir: ~/gateway}'), [
    'headgate.yaml:1:20  server.data_dir  begins with `~`, which only shells replace: write the whole path'
  ])
  t.match(load(t, 'server: {data_dir: ./~x}').server.dataDir, /~x$/)
})
