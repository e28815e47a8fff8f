/**
 * Every text that the store keeps, and the maximum length that anyone can make it keep in one row.
 */

import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import t from 'tap'
import { adminGateway } from '../support/admin.ts'
import { upstreamAt } from '../support/gateway.ts'
import { fakeUpstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'
import type { Generated } from 'kysely'
import type { Tables } from '../../lib/stores/tables.ts'

type Plain<T> = T extends Generated<infer U> ? U : T
/** The text columns of a table. */
type TextColumn<Row> = {
  [Column in keyof Row]: Plain<NonNullable<Row[Column]>> extends string ? Column : never
}[keyof Row]

/** Names of actions and states, times and the like, written by the gateway. */
const word = 64
/** Ids created by the gateway, and digests in base64. */
const id = 64
/** Names from callers and servers, truncated by `cutName`. */
const name = 256
/** Ids of responses and their items, created by a provider. */
const providerId = 512
/** Names given by people. */
const ownName = 100
const address = 64
/** Texts from people: lists of models and MCP servers, including JSON. */
const scope = 250_000
/** What `long-texts` leaves in a row, and a piece of the rest. */
const [inRow, piece] = [65_536, 131_072]

const mostCharacters: { readonly [T in keyof Tables]: { readonly [C in TextColumn<Tables[T]>]: number } } = {
  projects: { id, name: ownName, models: scope, stages: 10_000, limits: 10_000 },
  users: { id, name: ownName, email: 254, role: word, password: 256, limits: 10_000 },
  imported: { source: word, kind: word, source_id: id, id, spent: 1000 },
  members: { project_id: id, user_id: id },
  sessions: { digest: id, id, user_id: id, csrf_token: id, address, user_agent: 300 },
  sign_in_links: { digest: id, user_id: id },
  passkeys: {
    id,
    user_id: id,
    name: ownName,
    credential_id: 65_536,
    public_key: 65_536,
    host: 300,
    origin: 300
  },
  identities: { issuer: 2048, subject: 255, user_id: id },
  challenges: { id, purpose: word, holder: id, network: address, content: 1000 },
  invitations: { id, digest: id, email: 254, role: word, projects: 10_000, invited_by: ownName },
  admin_keys: { id, name: ownName, digest: id, role: word, scopes: 2000, created_by: id },
  audit: {
    id,
    actor: ownName,
    actor_id: id,
    action: word,
    subject: name,
    subject_name: name,
    address,
    before: scope,
    after: scope
  },
  leases: { name: word },
  alerts: { id, event: word, message: 2000, data: 4000 },
  alert_deliveries: { alert_id: id, channel: 80, state: word, error: 300 },
  usage_exports: { target: id, state: word, file: 80, sums: 1000, error: 300 },
  alert_conditions: { name: 300 },
  idempotent_answers: { id, request: id, answer: 2 * scope },
  responses: {
    id: providerId,
    key_id: id,
    previous_id: providerId,
    root_id: providerId,
    status: word,
    response: inRow,
    input: inRow,
    origin: 2000,
    owner: id,
    end_user: name
  },
  response_items: { key_id: id, item_id: providerId, response_id: providerId },
  response_events: { response_id: providerId, frame: inRow },
  text_pieces: { owner_id: providerId, name: 128, piece },
  keys: {
    id,
    name: ownName,
    digest: id,
    endpoints: 4000,
    models: scope,
    mcp_servers: scope,
    stages: 10_000,
    limits: 10_000,
    project_id: id,
    hint: word,
    created_by: id,
    owner_id: id,
    set_by_admin: 1000,
    previous_digest: id
  },
  secrets: { name: word, value: id },
  deferred: { id, state: word, owner: id, task: inRow, body: inRow, key_id: id, end_user: name },
  usage: {
    id,
    call_id: id,
    key_id: id,
    endpoint: word,
    requested_model: name,
    model: name,
    provider: name,
    outcome: word,
    error_code: word,
    image_size: name,
    image_quality: name,
    steps: 40_000,
    findings: 20_000,
    end_user: name,
    session: name,
    tags: 4000,
    metadata: 40_000,
    parties: 8000
  },
  usage_rollups: {
    key_id: id,
    model: name,
    provider: name,
    endpoint: word,
    latencies: 10_000,
    first_bytes: 10_000
  },
  name_rollups: { kind: word, project_id: id, name, model: name, latencies: 10_000, first_bytes: 10_000 },
  counted_names: { kind: word, project_id: id, name },
  rollup_backlog: { id },
  call_bodies: { id, project_id: id, readable_by: word, state: word, request: inRow, answer: inRow },
  spending: { key_id: id },
  party_spending: { party: name },
  gateways: { id },
  holdings: { gateway_id: id, key_id: id }
}

const long = 'x'.repeat(10_000)
const many = Array.from({ length: 500 }, (_, index) => `${index}/${'m'.repeat(190)}`)
const chat = { model: 'openai/gpt-5', messages: [{ role: 'user', content: 'Hello' }] }

/** A provider that makes everything as long as it can. */
async function boastfulProvider () {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const call = {
    id: long,
    type: 'function',
    function: { name: 'f'.repeat(10_000), arguments: JSON.stringify({ long }) }
  }
  const completion = {
    id: long,
    object: 'chat.completion',
    created: 1,
    model: long,
    system_fingerprint: long,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: long, tool_calls: [call] },
        finish_reason: 'tool_calls'
      }
    ],
    usage
  }
  const item = {
    type: 'message',
    id: long,
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: long, annotations: [], logprobs: [] }]
  }
  const response = {
    id: long,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: long,
    output: [item],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    metadata: { [long]: long }
  }
  return await fakeUpstream(({ path }) => ({
    headers: { 'content-type': 'application/json', 'x-request-id': long.slice(0, 8000) },
    pieces: [
      JSON.stringify(
        path.endsWith('/responses')
          ? response
          : path.endsWith('/refused')
            ? { error: { message: long, code: long, type: long } }
            : completion
      )
    ]
  }))
}

t.test('no caller, provider or user can make the store keep a text of unlimited length', async t => {
  const upstream = await boastfulProvider()
  t.teardown(upstream.close)
  const place = await adminGateway(t, {
    providers: [
      upstreamAt(upstream.url, 'openai', 'openai', { quirks: { responsesApi: false } }),
      upstreamAt(upstream.url, 'direct')
    ],
    endUsers: {
      store: 'as_given',
      required: false,
      defaultBudget: { usd: 1000, per: 'day', unpriced: 'allow' }
    },
    deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 10, maxBytesPerKey: 1e6 },
    calls: {
      keptMemoryBytes: 1e7,
      keepBodies: [
        {
          project: '*',
          keepMs: 60_000,
          maxBytes: 500_000,
          redact: { fields: [], patterns: [] },
          readableBy: 'admin'
        }
      ]
    }
  })
  const { database, api } = place
  const { key } = await place.keys.create({ name: 'caller' })
  const headers = {
    authorization: `Bearer ${key}`,
    'x-request-id': long.slice(0, 5000),
    'user-agent': long.slice(0, 2000),
    'session-id': 's'.repeat(64)
  }
  const post = async (path: string, body: object, expected = 200): Promise<Record<string, unknown>> => {
    const response = await api.post(path, body, { headers })
    const text = await response.text()
    t.equal(response.status, expected, `${path} ${JSON.stringify(body).slice(0, 100)} ${text.slice(0, 200)}`)
    return text.startsWith('{') ? JSON.parse(text) as Record<string, unknown> : {}
  }
  const tools = [
    {
      type: 'function',
      function: {
        name: 't',
        description: long,
        parameters: { type: 'object', properties: { [long]: { type: 'string', title: long } } }
      }
    }
  ]
  await post('/v1/chat/completions', {
    ...chat,
    tools,
    metadata: { a: 'x'.repeat(512) },
    user: 'u'.repeat(512)
  })
  await post(
    '/v1/chat/completions',
    { ...chat, model: Array.from({ length: 16 }, (_, index) => `none${index}/${'m'.repeat(240)}`) },
    404
  )
  await post('/v1/chat/completions', { ...chat, metadata: { [long]: long } }, 422)
  await post('/v1/chat/completions', { ...chat, deferred: true, tools })
  const items = [
    { type: 'message', id: long, role: 'user', content: long },
    { type: 'function_call', id: long, call_id: long, name: long, arguments: '{}' },
    { type: 'function_call_output', call_id: long, output: long }
  ]
  const names = [
    {
      type: 'function',
      name: 't',
      description: long,
      parameters: { type: 'object', properties: { [long]: { type: 'string' } } }
    }
  ]
  for (const model of ['openai/gpt-5', 'direct/gpt-5']) {
    await post('/v1/responses', {
      model,
      input: 'Hello',
      instructions: long,
      tools: names,
      metadata: { a: 'x'.repeat(512) }
    })
    await post('/v1/responses', { model, input: items })
    await post('/v1/responses', { model, input: long.repeat(20), background: true })
    await post('/v1/responses', { model, input: long.repeat(20), background: true, stream: true })
  }
  await post('/v1/messages', {
    model: 'openai/gpt-5',
    max_tokens: 9,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'document', title: long, source: { type: 'text', media_type: 'text/plain', data: long } }
        ]
      }
    ],
    metadata: { user_id: 'x'.repeat(256) }
  })

  const owner = await place.user('owner')
  const key100 = 'k'.repeat(100)
  const scopes = { models: many, mcp_servers: many.map(model => `org/${model}`.slice(0, 200)) }
  for (const [route, body] of [
    ['projects', { name: key100, models: many }],
    ['keys', { name: key100, ...scopes }],
    ['invitations', { email: `${'i'.repeat(240)}@example.com`, role: 'member' }],
    ['admin-keys', { name: key100, role: 'member' }]
  ] as const) {
    for (const [field, value] of Object.entries(body)) {
      if (field === 'role') continue
      const longer = typeof value === 'string' ? value + long : [...value, long]
      t.equal(
        (await owner.send(`POST /admin/v1/${route}`, { ...body, [field]: longer })).status,
        422,
        `${route} ${field}`
      )
    }
    const { status, body: answer } = await owner.send(`POST /admin/v1/${route}`, body, {
      'idempotency-key': `same-${route}`
    })
    t.equal(status, 200, `${route} ${JSON.stringify(answer).slice(0, 300)}`)
  }
  const begun = request(`${api.url}/admin/v1/sign-in/passkey/options`, {
    method: 'POST',
    headers: { host: 'localhost', 'content-type': 'application/json' }
  }).end('{}')
  const [{ statusCode }] = (await once(begun, 'response')) as [IncomingMessage]
  t.equal(statusCode, 200)
  await place.user('member', ['default'])
  const link = await owner.send(`POST /admin/v1/users/${owner.user.id}/link`, {})
  t.equal(
    (
      await place.send(
        'POST /admin/v1/sign-in/link',
        { token: String(link.body.url).split('/').at(-1) },
        { 'user-agent': long.slice(0, 4000) }
      )
    ).status,
    200
  )

  await owner.send(`POST /admin/v1/users/${owner.user.id}/link`, {})
  const rows = async (table: keyof Tables): Promise<Array<Record<string, unknown>>> =>
    await database.query.selectFrom(table).selectAll().execute()
  await until(
    async () =>
      (await rows('usage')).length >= 12 &&
      (await rows('call_bodies')).every(({ state }) => state !== 'storing'),
    'the rows of all calls'
  )
  await until(
    async () =>
      (await rows('responses')).every(({ status }) => status !== 'queued' && status !== 'in_progress'),
    'the responses in the background'
  )
  const empty: string[] = []
  for (const [table, columns] of Object.entries(mostCharacters)) {
    const found = await rows(table as keyof Tables)
    if (found.length === 0) empty.push(table)
    for (const row of found) {
      for (const [column, most] of Object.entries(columns)) {
        const text = row[column]
        if (typeof text === 'string' && text.length > most) {
          t.fail(
            `${table}.${column} has ${text.length} characters of at most ${most}: ${text.slice(0, 100)}`
          )
        }
      }
    }
  }
  t.same(
    empty.filter(name => name !== 'gateways'), // written when a budget is first checked
    [
      'imported',
      'passkeys',
      'identities',
      'leases',
      'alerts',
      'alert_deliveries',
      'usage_exports',
      'alert_conditions',
      'rollup_backlog',
      'holdings'
    ],
    'every other table was written to'
  )
  for (const line of api.lines) t.ok(JSON.stringify(line).length < 5000, JSON.stringify(line).slice(0, 300))
})
