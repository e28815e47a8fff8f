/**
 * Reversible masking: the provider gets placeholders, the caller gets the values back, and nothing else has
 * them: no log, row, recorded body, cached answer or stored response.
 */

import t from 'tap'
import { adminGateway, type AdminGateway } from '../support/admin.ts'
import { messagesIn, type Json } from '../support/conversations.ts'
import { chatUpstreamAt, testGateway, upstreamAt } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { eventually, until } from '../support/until.ts'
import {
  eventStream,
  fakeUpstream,
  toolCallAnswer,
  type FakeUpstream,
  type Script,
  type SeenRequest
} from '../support/upstream.ts'
import type { GuardSettings, Settings } from '../../lib/core/settings.ts'
import type { Tables } from '../../lib/stores/tables.ts'
import type { Test } from 'tap'

const mail = 'ada@example.com'
/** A value that JSON has to escape. */
const odd = 'q"u\\te'
const values = [mail, odd]

const stage: GuardSettings = {
  name: 'people',
  use: 'pattern',
  at: ['request', 'answer', 'tool_call', 'tool_result'],
  action: 'mask',
  reversible: true,
  patterns: ['email', { name: 'odd', match: 'q"u\\\\te', maxLength: 6 }]
}

/** Returns the placeholders of a request that a provider received, in order. */
function namesIn (text: string): string[] {
  return [...new Set(text.match(/<(?:EMAIL|ODD)_[a-z2-7]{8}>/g))]
}

function pieces (text: string): string[] {
  return text.match(/[\s\S]{1,7}/g) ?? []
}

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const data = (value: Json): string => `data: ${JSON.stringify(value)}\n\n`
const event = (value: Json): string => `event: ${String(value['type'])}\n${data(value)}`
const chunk = (delta: Json, finish: string | null = null): string =>
  data({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }]
  })

interface Said {
  readonly said: string
  readonly thought: string
  readonly args: string
}

interface Protocol {
  readonly provider: (url: string) => Settings['providers'][number]
  readonly model: string
  readonly complete: (said: Said) => Json
  readonly frames: (said: Said) => readonly string[]
}

const protocols: Readonly<Record<'chat' | 'anthropic' | 'responses', Protocol>> = {
  chat: {
    provider: chatUpstreamAt,
    model: 'm',
    complete: ({ said, thought, args }) => ({
      id: 'c1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      usage,
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: said,
            reasoning_content: thought,
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: args } }]
          }
        }
      ]
    }),
    frames: ({ said, thought, args }) => [
      ...pieces(thought).map(text => chunk({ reasoning_content: text })),
      ...pieces(said).map(text => chunk({ content: text })),
      chunk({
        tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }]
      }),
      ...pieces(args).map(text => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
      chunk({}, 'tool_calls'),
      data({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage }),
      'data: [DONE]\n\n'
    ]
  },
  anthropic: {
    provider: url => upstreamAt(url, 'anthropic', 'anthropic'),
    model: 'm',
    complete: ({ said, args }) => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 2 },
      content: [
        { type: 'text', text: said },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: JSON.parse(args) as Json }
      ]
    }),
    frames: ({ said, args }) => [
      event({
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 3, output_tokens: 1 }
        }
      }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      ...pieces(said).map(text =>
        event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
      ),
      event({ type: 'content_block_stop', index: 0 }),
      event({
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
      }),
      ...pieces(args).map(json =>
        event({
          type: 'content_block_delta',
          index: 1,
          delta: { type: 'input_json_delta', partial_json: json }
        })
      ),
      event({ type: 'content_block_stop', index: 1 }),
      event({
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 2 }
      }),
      event({ type: 'message_stop' })
    ]
  },
  responses: {
    provider: url => upstreamAt(url),
    model: 'm-codex',
    complete: said => responseOf(said),
    frames: said => {
      const response = responseOf(said)
      const [reasoning, message, call] = response['output'] as [Json, Json, Json]
      return [
        {
          type: 'response.created',
          response: { ...response, status: 'in_progress', output: [], usage: null }
        },
        { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, summary: [] } },
        ...pieces(said.thought).map(delta => ({
          type: 'response.reasoning_summary_text.delta',
          output_index: 0,
          summary_index: 0,
          item_id: 'rs_1',
          delta
        })),
        { type: 'response.output_item.done', output_index: 0, item: reasoning },
        { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
        ...pieces(said.said).map(delta => ({
          type: 'response.output_text.delta',
          output_index: 1,
          content_index: 0,
          item_id: 'msg_1',
          delta,
          logprobs: []
        })),
        {
          type: 'response.output_text.done',
          output_index: 1,
          content_index: 0,
          item_id: 'msg_1',
          text: said.said,
          logprobs: []
        },
        { type: 'response.output_item.done', output_index: 1, item: message },
        { type: 'response.output_item.added', output_index: 2, item: { ...call, arguments: '' } },
        ...pieces(said.args).map(delta => ({
          type: 'response.function_call_arguments.delta',
          output_index: 2,
          item_id: 'fc_1',
          delta
        })),
        {
          type: 'response.function_call_arguments.done',
          output_index: 2,
          item_id: 'fc_1',
          name: 'look',
          arguments: said.args
        },
        { type: 'response.output_item.done', output_index: 2, item: call },
        { type: 'response.completed', response }
      ].map((value, number) => event({ ...value, sequence_number: number }))
    }
  }
}

function responseOf ({ said, thought, args }: Said): Json {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'm',
    status: 'completed',
    store: false,
    output: [
      { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: thought }] },
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: said, annotations: [], logprobs: [] }]
      },
      {
        id: 'fc_1',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'look',
        arguments: args
      }
    ],
    usage: {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 5
    }
  }
}

/** Repeats the placeholders of its request, as a model might write them. */
function repeats (protocol: Protocol): (request: SeenRequest) => Script {
  return ({ json, text }) => {
    const [one = 'nobody', two = 'nothing'] = namesIn(text)
    const said: Said = {
      said: `Mail ${one}, or \`${one.toLowerCase()}\`: ${two}.`,
      thought: `Who is **${one.slice(1, -1)}**?`,
      args: JSON.stringify({ to: one, deep: [{ what: `say ${two}` }] })
    }
    return (json as Json)['stream'] === true
      ? { headers: eventStream, pieces: protocol.frames(said) }
      : {
          headers: { 'content-type': 'application/json' },
          pieces: [JSON.stringify(protocol.complete(said))]
        }
  }
}

interface Dialect {
  readonly path: string
  readonly request: (model: string, said: string) => Json
  /** Returns all texts of an answer: content, thinking and arguments. Thinking of Messages may be signed. */
  readonly read: (answer: readonly Json[]) => readonly [said: string, args: string, thought?: string]
}

const find = (value: unknown, name: string): string[] => {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]: [string, unknown]) =>
    key === name && typeof member === 'string' ? [member] : find(member, name)
  )
}
const tool = { name: 'look', parameters: { type: 'object', properties: {} } }

const dialects: Readonly<Record<'chat' | 'messages' | 'responses', Dialect>> = {
  chat: {
    path: '/v1/chat/completions',
    request: (model, said) => ({
      model,
      messages: [{ role: 'user', content: said }],
      tools: [{ type: 'function', function: tool }]
    }),
    read: answer => [
      find(answer, 'content').join(''),
      find(answer, 'arguments').join(''),
      find(answer, 'reasoning_content').join('')
    ]
  },
  messages: {
    path: '/v1/messages',
    request: (model, said) => ({
      model,
      max_tokens: 99,
      messages: [{ role: 'user', content: said }],
      tools: [{ name: 'look', input_schema: tool.parameters }]
    }),
    read: answer => {
      const inputs = answer
        .flatMap(({ content }) => (Array.isArray(content) ? (content as Json[]) : []))
        .filter(({ type }) => type === 'tool_use')
      return [
        find(answer, 'text').join(''),
        inputs.length > 0 ? JSON.stringify(inputs[0]?.['input']) : find(answer, 'partial_json').join('')
      ]
    }
  },
  responses: {
    path: '/v1/responses',
    request: (model, said) => ({ model, input: said, store: false, tools: [{ type: 'function', ...tool }] }),
    read: answer => {
      const streamed = (type: RegExp): string =>
        answer
          .filter(one => type.test(String(one['type'])))
          .map(({ delta }) => String(delta))
          .join('')
      if (answer.length > 1) {
        return [
          streamed(/output_text\.delta/),
          streamed(/arguments\.delta/),
          streamed(/reasoning_\w+\.delta/)
        ]
      }
      const output = (answer[0]?.['output'] as Json[]) ?? [] // of a response
      return [
        ['message', 'text'],
        ['function_call', 'arguments'],
        ['reasoning', 'text']
      ].map(([type, field = '']) =>
        find(
          output.filter(item => item['type'] === type),
          field
        ).join('')
      ) as [string, string, string]
    }
  }
}

interface Started {
  readonly gateway: AdminGateway
  readonly upstreams: Readonly<Record<string, FakeUpstream>>
  readonly send: (path: string, body?: Json, key?: string) => Promise<Response>
}

async function start (t: Test): Promise<Started> {
  const upstreams: Record<string, FakeUpstream> = {}
  const providers: Settings['providers'][number][] = []
  for (const [id, protocol] of Object.entries(protocols)) {
    const upstream = (upstreams[id] = await fakeUpstream(repeats(protocol)))
    t.teardown(upstream.close)
    providers.push({ ...protocol.provider(upstream.url), id })
  }
  const gateway = await adminGateway(t, {
    providers,
    guards: [stage],
    cache: { answers: { ttlMs: 60_000, maxBytes: 16e6, scope: 'project', when: 'asked' } },
    deferred: { forAllProviders: true, keepMs: 60_000, maxPending: 100, maxBytesPerKey: 1e6 },
    calls: {
      keptMemoryBytes: 1e8,
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
  const { key } = await gateway.keys.create({ name: 'caller' })
  return {
    gateway,
    upstreams,
    send: async (path, body, own = key) => {
      const headers = { authorization: `Bearer ${own}` }
      return body === undefined
        ? await gateway.api.get(path, { headers })
        : await gateway.api.post(path, body, { headers })
    }
  }
}

function holdsValue (text: string): boolean {
  return values.some(value => text.includes(value) || text.includes(JSON.stringify(value).slice(1, -1)))
}

/** Searches the log, and every text in the store. */
async function searchWhatIsKept (t: Test, { api, database }: AdminGateway, calls: number): Promise<void> {
  const rows = async (table: keyof Tables): Promise<object[]> =>
    await database.query.selectFrom(table).selectAll().execute()
  await until(async () => (await rows('usage')).length >= calls, `the rows of ${calls} calls`)
  await until(
    async () =>
      (await rows('call_bodies')).length >= calls &&
      (await database.query.selectFrom('call_bodies').select('id').where('state', '=', 'storing').execute())
        .length === 0,
    'the bodies of all calls'
  )
  const tables = [
    'usage',
    'usage_rollups',
    'call_bodies',
    'deferred',
    'responses',
    'response_items',
    'response_events',
    'text_pieces',
    'keys',
    'audit'
  ] as const satisfies ReadonlyArray<keyof Tables>
  for (const table of tables) {
    for (const row of await rows(table)) {
      t.notOk(
        holdsValue(JSON.stringify(row)) || Object.values(row).some(text => holdsValue(String(text))),
        `not in ${table}: ${JSON.stringify(row).slice(0, 600)}`
      )
    }
  }
  for (const line of api.lines) {
    t.notOk(holdsValue(JSON.stringify(line)), `not in the log: ${JSON.stringify(line).slice(0, 300)}`)
  }
}

function readAnswer (text: string): Json[] {
  return text.startsWith('{') ? [JSON.parse(text) as Json] : messagesIn(text)
}

function checkAnswer (t: Test, { read }: Dialect, text: string, title: string): void {
  const [said, args, thought] = read(readAnswer(text))
  t.equal(said, `Mail ${mail}, or \`${mail}\`: ${odd}.`, title)
  t.same(JSON.parse(args), { to: mail, deep: [{ what: `say ${odd}` }] }, title)
  if (thought !== undefined && thought !== '') t.equal(thought, `Who is **${mail}**?`, title)
}

t.test(
  'only the caller sees the values, in every dialect, direct and translated, complete and streamed',
  async t => {
    const { gateway, upstreams, send } = await start(t)
    let calls = 0
    for (const [id, { model }] of Object.entries(protocols)) {
      for (const [name, dialect] of Object.entries(dialects)) {
        for (const stream of [false, true]) {
          const title = `${name} in front of ${id}, ${stream ? 'streamed' : 'complete'}`
          for (const expected of ['miss', 'hit']) {
            const response = await send(dialect.path, {
              ...dialect.request(`${id}/${model}`, `I am ${mail}, and ${odd}`),
              stream,
              cache: { ttl: 60 }
            })
            const text = await response.text()
            calls++
            t.equal(response.status, 200, `${title}: ${text.slice(0, 300)}`)
            // a stream may be generated from a complete answer
            if (expected === 'hit') t.equal(response.headers.get('x-headgate-cache'), 'hit', title)
            checkAnswer(t, dialect, text, `${title}, ${expected}`)
            if (stream && name === 'chat') t.ok(text.endsWith('data: [DONE]\n\n'), title)
          }
        }
      }
    }
    const sent = Object.values(upstreams).flatMap(({ requests }) => requests.map(({ text }) => text))
    t.ok(sent.length >= 9)
    for (const text of sent) t.notOk(holdsValue(text), text)
    t.equal(new Set(sent.flatMap(namesIn)).size, 2, 'a value has the same placeholder in every call of a key')
    await searchWhatIsKept(t, gateway, calls)
  }
)

t.test('another key has other placeholders, and gets no values of the first', async t => {
  const { gateway, upstreams, send } = await start(t)
  const { key } = await gateway.keys.create({ name: 'other' })
  const { path, request } = dialects.chat
  await (await send(path, request('chat/m', mail))).text()
  const [name = ''] = namesIn(upstreams['chat']?.requests[0]?.text ?? '')
  const own = await (await send(path, request('chat/m', `Who is ${name}?`))).text()
  t.match(
    upstreams['chat']?.requests[1]?.text,
    /<TEXT_[a-z2-7]{8}>/,
    'text that looks like a placeholder is escaped'
  )
  t.notOk(holdsValue(own))
  const text = await (await send(path, request('chat/m', `${mail} ${name}`), key)).text()
  const [other] = namesIn(upstreams['chat']?.requests[2]?.text ?? '')
  t.not(other, name)
  t.match(text, mail)
})

t.test('deferred, stored, continued and fetched answers have the values for their caller', async t => {
  const { gateway, upstreams, send } = await start(t)
  const { responses, chat } = dialects
  let calls = 0
  const post = async (path: string, body: Json): Promise<Json> => {
    calls++
    return (await (await send(path, body)).json()) as Json
  }
  const fetched = async (path: string): Promise<string> => {
    const isReady = (text: string): boolean =>
      !/"status":\s*"(?:queued|in_progress|pending)"/.test(text) || path.includes('stream=true')
    return await eventually(async () => await (await send(path)).text(), isReady, path)
  }
  const said = `I am ${mail}, and ${odd}`
  const receipt = await post(chat.path, { ...chat.request('chat/m', said), deferred: true })
  checkAnswer(
    t,
    chat,
    await fetched(`/v1/chat/deferred-completion/${String(receipt['request_id'])}`),
    'deferred'
  )
  calls++
  for (const id of ['chat', 'responses'] as const) {
    const model = `${id}/${protocols[id].model}`
    const stored = await post(responses.path, {
      ...responses.request(model, said),
      store: true,
      instructions: mail
    })
    checkAnswer(t, responses, JSON.stringify(stored), `${id}: stored`)
    t.equal(stored['instructions'], mail)
    checkAnswer(t, responses, await fetched(`/v1/responses/${String(stored['id'])}`), `${id}: fetched`)
    const items = await fetched(`/v1/responses/${String(stored['id'])}/input_items`)
    t.equal(
      find(JSON.parse(items), 'text').join() || find(JSON.parse(items), 'content').join(),
      said,
      `${id}: its input`
    )
    const before = upstreams[id]?.requests.length ?? 0
    const further = (response: Json): Json => ({
      ...responses.request(model, ''),
      store: true,
      previous_response_id: String(response['id']),
      input: [
        {
          type: 'function_call_output',
          call_id: find(response['output'], 'call_id')[0] ?? '',
          output: 'done'
        },
        { role: 'user', content: 'Say it again.' }
      ]
    })
    const continued = await post(responses.path, further(stored))
    const text = upstreams[id]?.requests[before]?.text ?? ''
    t.notMatch(text, /<TEXT_/, `${id}: placeholders of the conversation stay`)
    checkAnswer(t, responses, JSON.stringify(continued), `${id}: continued`)
    checkAnswer(
      t,
      responses,
      JSON.stringify(await post(responses.path, further(continued))),
      `${id}: continued further`
    )

    for (const stream of [false, true]) {
      const response = await send(responses.path, {
        ...responses.request(model, said),
        store: true,
        background: true,
        stream
      })
      const begun = await response.text()
      calls += 2 // it runs as a separate call
      const background = /"id":\s*"(resp_[^"]+)"/.exec(begun)?.[1] ?? ''
      if (stream) checkAnswer(t, responses, begun, `${id}: in the background, streamed`)
      checkAnswer(t, responses, await fetched(`/v1/responses/${background}`), `${id}: in the background`)
      if (!stream) continue
      const whole = await fetched(`/v1/responses/${background}?stream=true`)
      checkAnswer(t, responses, whole, `${id}: its stream`)
      const numbers = messagesIn(whole).map(message => Number(message['sequence_number']))
      for (const after of numbers.slice(0, -1)) {
        const rest = messagesIn(
          await fetched(`/v1/responses/${background}?stream=true&starting_after=${after}`)
        )
        t.same(
          rest,
          messagesIn(whole).filter(message => Number(message['sequence_number']) > after),
          `${id}: from event ${after} on`
        )
      }
    }
  }
  for (const { requests } of Object.values(upstreams)) {
    for (const { text } of requests) t.notOk(holdsValue(text), text)
  }
  await searchWhatIsKept(t, gateway, calls)
})

t.test(
  'server tools get placeholders unless the guard says otherwise, and their results are masked',
  async t => {
    for (const unmaskFor of [undefined, ['server' as const]]) {
      const tools = await startToolServer(t, { more: ['look'], says: `from bob@example.org, ${mail}` })
      const chat = protocols.chat
      const upstream = await fakeUpstream(({ text, json }, number) => {
        const [one = ''] = namesIn(text)
        if (number % 2 > 0) return repeats(chat)({ text, json: { ...(json as Json) } } as SeenRequest)
        return { pieces: [toolCallAnswer('look', { to: one })] }
      })
      t.teardown(upstream.close)
      const api = await testGateway(t, {
        providers: [{ ...chat.provider(upstream.url), id: 'chat' }],
        tools: { ...settings().tools, allowedHosts: ['127.0.0.1'] },
        guards: [{ ...stage, ...unmaskFor !== undefined && { unmaskFor } }]
      })
      const response = await api.post('/v1/chat/completions', {
        model: 'chat/m',
        messages: [{ role: 'user', content: `Write to ${mail}` }],
        mcp_servers: [tools.url],
        max_turns: 2
      })
      const text = await response.text()
      t.equal(response.status, 200, text)
      t.equal(
        JSON.stringify(tools.calls).includes(mail),
        unmaskFor !== undefined,
        'the arguments of the tool'
      )
      const [, second] = upstream.requests
      t.notOk(holdsValue(second?.text ?? mail), second?.text ?? '')
      t.notOk(second?.text.includes('bob@example.org'))
      t.match(JSON.parse(text), {
        choices: [{ message: { content: new RegExp(mail) } }],
        mcp_tool_results: [{ arguments: { to: mail }, result: /bob@example\.org/ }]
      })
    }
  }
)
