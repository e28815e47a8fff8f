/**
 * Behaviour of servers and clients that users have reported, on real sockets: what the server sends, what the
 * caller sends, and what each must receive. Behaviour that one reader or writer handles alone is tested with
 * that file.
 */

import zlib from 'node:zlib'
import t from 'tap'
import { objectOf, objectsOf, property, type JsonObject } from '../../lib/json/type-guards.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { chatAnswer, eventStream, fakeUpstream } from '../support/upstream.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

interface Row {
  readonly title: string
  readonly provider: ProviderKind
  /** A complete answer, or the bytes of a stream. */
  readonly sends: string
  readonly path: '/v1/chat/completions' | '/v1/messages' | '/v1/responses'
  /** Default: `m`. */
  readonly model?: string
  /** Without the model. */
  readonly request: JsonObject
  readonly callerGets?: Partial<Facts>
  /** Fields of the request, exactly. */
  readonly serverGets?: JsonObject
}

/** The content of an answer, in any dialect, streamed or not. */
interface Facts {
  readonly text: string
  readonly calls: ReadonlyArray<readonly [name: string, text: string]>
  /** The number of distinct ids of the calls. */
  readonly ids: number
  /** The finish reason; empty if an error ends the stream. */
  readonly end: string
  readonly cachedTokens: number
}

const chat = '/v1/chat/completions'
const messages = '/v1/messages'
const responses = '/v1/responses'

const user = (content: unknown): JsonObject => ({ role: 'user', content })
const assistant = (content: unknown): JsonObject => ({ role: 'assistant', content })
const system = (content: string): JsonObject => ({ role: 'system', content })
const text = (text: string): JsonObject => ({ type: 'text', text })
const reminder = '<system-reminder>\nC\n</system-reminder>'

const weather = { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }
const chatTools = [{ type: 'function', function: weather }]
const messagesTools = [{ name: weather.name, input_schema: weather.parameters }]
const bern = '{"city":"Bern"}'
const rome = '{"city":"Rome"}'
function toolUse (id: string, city: string): JsonObject {
  return { type: 'tool_use', id, name: 'weather', input: { city } }
}

const toolResult = (id: string): JsonObject => ({ type: 'tool_result', tool_use_id: id, content: 'sun' })

const askChat = { messages: [user('Where?')], stream: true, tools: chatTools }
const askMessages = { messages: [user('Where?')], max_tokens: 2000, tools: messagesTools }

/** Prints a chat stream of these deltas. */
function chatStream (...deltas: readonly JsonObject[]): string {
  const frame = (delta: JsonObject, reason: string | null): string =>
    `data: ${JSON.stringify({ id: 'up', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
  return `${deltas.map(delta => frame(delta, null)).join('')}${frame({}, 'tool_calls')}data: [DONE]\n\n`
}

/** A piece of a tool call, as a delta. */
function piece (label: JsonObject, text: unknown, name?: string): JsonObject {
  return { tool_calls: [{ ...label, type: 'function', function: { name, arguments: text } }] }
}

function responsesCall (text: string): JsonObject {
  return { type: 'function_call', id: 'fc', call_id: 'k', name: 'weather', arguments: text }
}

/** Prints a complete answer in Anthropic's format. */
function claudeAnswer (...content: readonly JsonObject[]): string {
  const answer = { id: 'up', type: 'message', role: 'assistant', content, stop_reason: 'tool_use' }
  return JSON.stringify({ ...answer, usage: { input_tokens: 3, output_tokens: 2 } })
}

/** Prints a stream in Anthropic's format. */
function claudeStream (events: readonly JsonObject[], colon = ': '): string {
  const frame = (event: JsonObject): string =>
    `event${colon}${String(event['type'])}\ndata${colon}${JSON.stringify(event)}\n\n`
  return events.map(frame).join('')
}

const begin = { type: 'message_start', message: { id: 'up', content: [], usage: { input_tokens: 3 } } }

function block (index: number, content: JsonObject, delta: JsonObject): readonly JsonObject[] {
  return [
    { type: 'content_block_start', index, content_block: content },
    { type: 'content_block_delta', index, delta },
    { type: 'content_block_stop', index }
  ]
}

const hello = block(0, text(''), { type: 'text_delta', text: 'hello' })

function streamedCall (index: number, id: string, json: string): readonly JsonObject[] {
  const call = { type: 'tool_use', id, name: 'weather', input: {} }
  return block(index, call, { type: 'input_json_delta', partial_json: json })
}

function end (reason: string, counts: JsonObject = {}): readonly JsonObject[] {
  const usage = { output_tokens: 2, ...counts }
  return [{ type: 'message_delta', delta: { stop_reason: reason }, usage }, { type: 'message_stop' }]
}

/** Prints a stream of the Responses API; `response` is its last event. */
function responsesStream (events: readonly JsonObject[], response: JsonObject): string {
  const created = { type: 'response.created', response: { id: 'up', status: 'in_progress' } }
  const completed = { type: 'response.completed', response: { id: 'up', status: 'completed', ...response } }
  return [created, ...events, completed].map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
}

const rows: readonly Row[] = [
  {
    title: 'arguments stand under another index than the name of their call: Messages',
    provider: 'sglang',
    sends: chatStream(
      piece({ index: 3, id: 'k' }, '', 'weather'),
      piece({ index: 0 }, '{"city":'),
      piece({ index: 0 }, '"Bern"}')
    ),
    path: messages,
    request: { ...askMessages, stream: true },
    callerGets: { calls: [['weather', bern]], ids: 1, end: 'tool_use' }
  },
  {
    title: 'arguments are streamed as an object',
    provider: 'openai-compatible',
    sends: chatStream(piece({ index: 0, id: 'k' }, { city: 'Bern' }, 'weather')),
    path: chat,
    request: askChat,
    callerGets: { calls: [['weather', bern]], end: 'tool_calls' }
  },
  {
    title: 'all arguments come once more at the end, without a name',
    provider: 'openai-compatible',
    sends: chatStream(
      piece({ index: 0, id: 'k' }, '', 'weather'),
      piece({ index: 0 }, bern),
      piece({ index: 0 }, bern)
    ),
    path: chat,
    request: askChat,
    callerGets: { calls: [['weather', bern]], end: 'tool_calls' }
  },
  {
    title: 'arguments come complete, in no pieces, and the item that ends has none',
    provider: 'openai',
    model: 'gpt-6-sol',
    sends: responsesStream([
      { type: 'response.output_item.added', output_index: 0, item: responsesCall('') },
      { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc', arguments: bern },
      { type: 'response.output_item.done', output_index: 0, item: responsesCall('') }
    ], {}),
    path: messages,
    request: { ...askMessages, stream: true },
    callerGets: { calls: [['weather', bern]], ids: 1, end: 'tool_use' }
  },
  {
    title: 'parts of a text come complete, in no pieces',
    provider: 'openai',
    model: 'gpt-6-sol',
    sends: responsesStream([
      { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'msg' } },
      { type: 'response.output_text.done', item_id: 'msg', content_index: 0, text: 'hel' },
      { type: 'response.output_text.done', item_id: 'msg', content_index: 1, text: 'lo' },
      { type: 'response.output_item.done', output_index: 0, item: { type: 'message', id: 'msg' } }
    ], {}),
    path: chat,
    request: askChat,
    callerGets: { text: 'hello', end: 'stop' }
  },
  {
    title: 'a text that came in pieces comes complete as well',
    provider: 'openai',
    model: 'gpt-6-sol',
    sends: responsesStream([
      { type: 'response.output_text.delta', item_id: 'msg', content_index: 0, delta: 'hello' },
      { type: 'response.output_text.done', item_id: 'msg', content_index: 0, text: 'hello' },
      { type: 'response.output_text.done', text: 'hello' }
    ], {}),
    path: chat,
    request: askChat,
    callerGets: { text: 'hello', end: 'stop' }
  },
  {
    title: 'a template takes one system message, and that first',
    provider: 'vllm',
    sends: chatAnswer('ok'),
    path: chat,
    request: { messages: [system('A'), system('B'), user('hi'), assistant('yes?'), system('C'), user('go')] },
    serverGets: { messages: [system('A\n\nB'), user('hi'), assistant('yes?'), user(`${reminder}\n\ngo`)] }
  },
  {
    title: 'a template takes no two users in a row',
    provider: 'llama.cpp',
    sends: chatAnswer('ok'),
    path: messages,
    request: { system: 'A', max_tokens: 100, messages: [user('hi'), system('C'), user('go')] },
    serverGets: { messages: [system('A'), user(`hi\n\n${reminder}\n\ngo`)] }
  },
  {
    title: 'a server takes no user after the result of a tool',
    provider: 'mistral',
    sends: chatAnswer('ok'),
    path: messages,
    request: {
      ...askMessages,
      messages: [
        user('Where?'),
        assistant([toolUse('call12345', 'Bern')]),
        user([toolResult('call12345'), text('So?')])
      ]
    },
    serverGets: {
      messages: [
        user('Where?'),
        {
          ...assistant(null),
          tool_calls: [{ id: 'call12345', type: 'function', function: { name: 'weather', arguments: bern } }]
        },
        { role: 'tool', tool_call_id: 'call12345', content: 'sun' },
        assistant('I have the results.'),
        user('So?')
      ]
    }
  },
  {
    title: 'a server that signs no thinking wants it back',
    provider: 'anthropic',
    sends: claudeAnswer(text('ok')),
    path: messages,
    request: {
      ...askMessages,
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages: [
        user('Where?'),
        assistant([{ type: 'thinking', thinking: 'Hm.', signature: '' }, toolUse('k', 'Bern')]),
        user([toolResult('k')])
      ]
    },
    serverGets: {
      messages: [
        user('Where?'),
        assistant([{ type: 'thinking', thinking: 'Hm.', signature: '' }, toolUse('k', 'Bern')]),
        user([toolResult('k')])
      ]
    }
  },
  {
    title: 'messages that hold nothing keep a stream open that is passed on',
    provider: 'anthropic',
    sends: `${claudeStream([begin, ...hello])}data:\n\ndata: null\n\n${claudeStream(end('end_turn'))}`,
    path: messages,
    request: { messages: [user('hi')], max_tokens: 100, stream: true },
    callerGets: { text: 'hello', end: 'end_turn' }
  },
  {
    title: 'two calls of an answer have one id: Messages',
    provider: 'anthropic',
    sends: claudeAnswer(toolUse('weather:1', 'Bern'), toolUse('weather:1', 'Rome')),
    path: messages,
    request: askMessages,
    callerGets: { calls: [['weather', bern], ['weather', rome]], ids: 2 }
  },
  {
    title: 'two calls of a stream have one id: Messages',
    provider: 'anthropic',
    sends: claudeStream([
      begin,
      ...streamedCall(0, 'weather:1', bern),
      ...streamedCall(1, 'weather:1', rome),
      ...end('tool_use')
    ]),
    path: messages,
    request: { ...askMessages, stream: true },
    callerGets: { calls: [['weather', bern], ['weather', rome]], ids: 2, end: 'tool_use' }
  },
  {
    title: 'two calls of an answer have one id: chat completions',
    provider: 'anthropic',
    sends: claudeAnswer(toolUse('weather:1', 'Bern'), toolUse('weather:1', 'Rome')),
    path: chat,
    request: { ...askChat, stream: false },
    callerGets: { calls: [['weather', bern], ['weather', rome]], ids: 2, end: 'tool_calls' }
  },
  {
    title: 'no blank follows the colons of events, and the cached tokens come at the end',
    provider: 'anthropic',
    sends: claudeStream([begin, ...hello, ...end('end_turn', { cache_read_input_tokens: 700 })], ':'),
    path: chat,
    request: { messages: [user('hi')], stream: true, stream_options: { include_usage: true } },
    callerGets: { text: 'hello', end: 'stop', cachedTokens: 700 }
  },
  {
    title: 'a client has its tools in a namespace',
    provider: 'vllm',
    sends: JSON.stringify({
      choices: [{
        message: { tool_calls: [{ id: 'k', function: { name: 'places__weather', arguments: bern } }] },
        finish_reason: 'tool_calls'
      }]
    }),
    path: responses,
    request: {
      input: 'Where?',
      tools: [
        { type: 'namespace', name: 'places', tools: [{ type: 'function', ...weather }] },
        { type: 'web_search' }
      ]
    },
    callerGets: { calls: [['places weather', bern]] },
    serverGets: { tools: [{ type: 'function', function: { ...weather, name: 'places__weather' } }] }
  },
  {
    title: 'a client wants the highest effort: chat completions',
    provider: 'openai-compatible',
    sends: chatAnswer('ok'),
    path: chat,
    request: { messages: [user('hi')], reasoning_effort: 'max' },
    serverGets: { reasoning_effort: 'max' }
  },
  {
    title: 'a client wants the highest effort: Responses',
    provider: 'openai-compatible',
    sends: chatAnswer('ok'),
    path: responses,
    request: { input: 'hi', reasoning: { effort: 'max' } },
    serverGets: { reasoning_effort: 'max' }
  }
]

/** Reads a complete answer, or the events of a stream. */
function factsOf (body: string): Facts {
  const calls: Array<[string, string]> = []
  const ids = new Set<unknown>()
  const facts = { text: '', end: '', cachedTokens: 0 }
  const note = (id: unknown, name: unknown, json: unknown): void => {
    if (typeof name === 'string') {
      ids.add(id)
      calls.push([name, ''])
    }
    const last = calls.at(-1)
    if (last !== undefined && typeof json === 'string') last[1] += json
  }
  for (const value of valuesIn(body)) {
    const [choice] = objectsOf(value['choices'])
    const message = objectOf(choice?.['delta'] ?? choice?.['message'])
    for (const call of objectsOf(message?.['tool_calls'])) {
      note(call['id'], property(call['function'], 'name'), property(call['function'], 'arguments'))
    }
    for (const content of [...objectsOf(value['content']), objectOf(value['content_block']) ?? {}]) {
      const input = JSON.stringify(content['input'])
      note(content['id'], content['name'], value['content_block'] === undefined ? input : '')
    }
    for (const item of objectsOf(value['output'])) {
      const name = [item['namespace'], item['name']].flatMap(name => textOf(name) ?? []).join(' ')
      if (item['type'] === 'function_call') note(item['call_id'], name, item['arguments'])
    }
    const delta = objectOf(value['delta'])
    note(undefined, undefined, delta?.['partial_json'])
    facts.text += textOf(message?.['content']) ?? textOf(delta?.['text']) ?? ''
    facts.end = textOf(choice?.['finish_reason']) ?? textOf(delta?.['stop_reason']) ?? facts.end
    const cached = property(property(value['usage'], 'prompt_tokens_details'), 'cached_tokens')
    facts.cachedTokens = Number(cached ?? facts.cachedTokens)
  }
  return { ...facts, calls, ids: ids.size }
}

function textOf (value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function valuesIn (body: string): readonly JsonObject[] {
  const frames = Array.from(body.matchAll(/^data: (\{.*)$/gm), ([, json = '']) => json)
  return (body.startsWith('{') ? [body] : frames).map(json => JSON.parse(json) as JsonObject) // as printed
}

t.test('behaviour of reported servers and clients', async t => {
  let sends = ''
  const upstream = await fakeUpstream(() => (
    sends.startsWith('{') ? { pieces: [sends] } : { headers: eventStream, pieces: [sends] }
  ))
  t.teardown(upstream.close)
  const kinds = [...new Set(rows.map(({ provider }) => provider))]
  const baseUrl = (kind: ProviderKind): string => kind === 'anthropic' ? upstream.url : `${upstream.url}/v1`
  const providers = kinds.map(kind => upstreamAt(baseUrl(kind), kind, kind))
  const { post } = await testGateway(t, { providers })

  for (const { title, provider, path, request, callerGets, serverGets, ...row } of rows) {
    await t.test(title, async t => {
      sends = row.sends
      const answer = await post(path, { ...request, model: `${provider}/${row.model ?? 'm'}` })
      const body = await answer.text()
      t.equal(answer.status, 200, body)
      if (callerGets !== undefined) t.has(factsOf(body), callerGets)
      const sent = objectOf(upstream.requests.at(-1)?.json)
      for (const [name, value] of Object.entries(serverGets ?? {})) t.same(sent?.[name], value, name)
    })
  }

  await t.test('a client compresses with zstd, which some versions of Node.js can read', async t => {
    sends = chatAnswer('ok')
    const body = zstdFrame(JSON.stringify({ model: 'vllm/m', input: 'hi' }))
    const answer = await post(responses, '', { body, headers: { 'content-encoding': 'zstd' } })
    const isReadable = typeof property(zlib, 'createZstdDecompress') === 'function'
    t.equal(answer.status, isReadable ? 200 : 415)
    const refusal = { error: { code: 'unsupported_media_type', message: /zstd needs/ } }
    t.match(await answer.json(), isReadable ? { status: 'completed' } : refusal)
  })
})

/**
 * Returns a frame whose only block is not compressed, of at most 255 bytes.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1
 */
function zstdFrame (text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(text)
  const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, bytes.length, 0, 0, 0])
  header.writeUIntLE(bytes.length << 3 | 1, 6, 3)
  return Buffer.concat([header, bytes])
}
