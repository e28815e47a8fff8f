/**
 * No text passes by a stage: one that replaces a word, at every place, in every dialect, in front of providers of every
 * protocol, for complete and streamed answers.
 */

import t from 'tap'
import { eventStream, fakeUpstream, type FakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import { chatUpstreamAt, testGateway, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { replacement, withStages, word, wordStages } from '../support/word-stages.ts'
import type { ProviderSettings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

type Json = Readonly<Record<string, unknown>>

/** The words of an answer: cut where a stream cuts them. */
const said = ['I went to Z', 'anz', `ibar. ${word} is warm. Z`, 'anzibar']
const thought = ['They mean Zanzi', 'bar, or ', 'Zan']
const called = ['{"place":"Zan', 'zibar","near":"\\u005aanzibar', '"}']
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

interface Protocol {
  readonly model: string
  readonly provider: (url: string) => ProviderSettings
  readonly complete: Json
  readonly frames: readonly string[]
  /** Fields that its requests do not have. */
  readonly lacks?: readonly string[]
}

function data (value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function event (value: Json): string {
  return `event: ${String(value['type'])}\n${data(value)}`
}

function chunk (delta: Json, finish: string | null = null): string {
  return data({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })
}

const chatAnswer: Pick<Protocol, 'complete' | 'frames'> = {
  complete: {
    id: 'c1', object: 'chat.completion', created: 1, model: 'm', usage,
    choices: [{
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant', content: said.join(''), reasoning_content: thought.join(''),
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: called.join('') } }]
      }
    }]
  },
  frames: [
    chunk({ role: 'assistant', content: '' }),
    ...thought.map(text => chunk({ reasoning_content: text })),
    ...said.map(text => chunk({ content: text })),
    chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }] }),
    ...called.map(text => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })),
    chunk({}, 'tool_calls'),
    data({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage }),
    'data: [DONE]\n\n'
  ]
}

function responsesAnswer (): Pick<Protocol, 'complete' | 'frames'> {
  const reasoning = { id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: thought.join('') }] }
  const message = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: said.join(''), annotations: [], logprobs: [] }] }
  const call = { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'look', arguments: called.join('') }
  const response = {
    id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed', output: [reasoning, message, call], store: false, x_new: { kept: [1.0] },
    usage: { input_tokens: 3, input_tokens_details: { cached_tokens: 0 }, output_tokens: 2, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 5 }
  }
  const part = { output_index: 1, content_index: 0, item_id: 'msg_1' }
  const frames = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, summary: [] } },
    ...thought.map(delta => ({ type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, item_id: 'rs_1', delta })),
    { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 0, item_id: 'rs_1', text: thought.join('') },
    { type: 'response.output_item.done', output_index: 0, item: reasoning },
    { type: 'response.output_item.added', output_index: 1, item: { ...message, content: [] } },
    { type: 'response.of_the_future', thing: { kept: true } },
    ...said.map(delta => ({ type: 'response.output_text.delta', ...part, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...part, text: said.join(''), logprobs: [] },
    { type: 'response.content_part.done', ...part, part: message.content[0] },
    { type: 'response.output_item.done', output_index: 1, item: message },
    { type: 'response.output_item.added', output_index: 2, item: { ...call, arguments: '' } },
    ...called.map(delta => ({ type: 'response.function_call_arguments.delta', output_index: 2, item_id: 'fc_1', delta })),
    { type: 'response.function_call_arguments.done', output_index: 2, item_id: 'fc_1', name: 'look', arguments: called.join('') },
    { type: 'response.output_item.done', output_index: 2, item: call },
    { type: 'response.completed', response }
  ]
  return { complete: response, frames: frames.map((value, at) => event({ ...value, sequence_number: at })) }
}

const protocols: Readonly<Record<'chat' | 'responses' | 'anthropic' | 'google' | 'xai', Protocol>> = {
  chat: { model: 'openai/m', provider: chatUpstreamAt, ...chatAnswer },
  xai: { model: 'xai/m', provider: url => upstreamAt(url, 'xai', 'xai'), ...chatAnswer },
  responses: { model: 'openai/m-codex', provider: url => upstreamAt(url), lacks: ['stop', 'stop_sequences'], ...responsesAnswer() },
  anthropic: {
    model: 'anthropic/m',
    provider: url => upstreamAt(url, 'anthropic', 'anthropic'),
    complete: {
      id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'tool_use', stop_sequence: null, usage: { input_tokens: 3, output_tokens: 2 },
      content: [{ type: 'text', text: said.join('') }, { type: 'tool_use', id: 'toolu_1', name: 'look', input: JSON.parse(called.join('')) as Json }]
    },
    frames: [
      event({ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 3, output_tokens: 1 } } }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      event({ type: 'ping' }),
      ...said.map(text => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
      event({ type: 'content_block_stop', index: 0 }),
      event({ type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} } }),
      ...called.map(json => event({ type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: json } })),
      event({ type: 'content_block_stop', index: 1 }),
      event({ type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 2 } }),
      event({ type: 'message_stop' })
    ]
  },
  google: {
    model: 'google/m',
    provider: url => upstreamAt(url, 'google', 'google'),
    complete: candidates([...said.map(text => ({ text })), { text: thought.join(''), thought: true }, functionCall()], 'STOP'),
    frames: [
      ...thought.map(text => data(candidates([{ text, thought: true }]))),
      ...said.map(text => data(candidates([{ text }]))),
      data(candidates([functionCall()], 'STOP'))
    ]
  }
}

function candidates (parts: readonly Json[], finishReason?: string): Json {
  return { candidates: [{ index: 0, content: { role: 'model', parts }, ...finishReason !== undefined && { finishReason } }], usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 } }
}

function functionCall (): Json {
  return { functionCall: { name: 'look', args: JSON.parse(called.join('')) as Json } }
}

interface Dialect {
  readonly path: string
  readonly request: (model: string, here: string) => Json
  /** All texts of an answer, each joined. */
  readonly textsOf: (answer: readonly Json[]) => string[]
}

const schema = (here: string): Json => ({ type: 'object', properties: { place: { type: 'string', description: `as in ${here}` } } })

/** Requests with the word in many places, and answers read as clients do. */
const dialects: Readonly<Record<'chat' | 'messages' | 'responses' | 'completions', Dialect>> = {
  chat: {
    path: '/v1/chat/completions',
    request: (model, here) => ({
      model,
      messages: [
        { role: 'system', content: `Talk of ${here}.` },
        { role: 'user', content: [{ type: 'text', text: `Where is ${here}?` }, { type: 'text', text: 'Say it.' }] },
        { role: 'assistant', content: null, tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'look', arguments: `{"place":"\\u005a${here.slice(1)}"}` } }] },
        { role: 'tool', tool_call_id: 'call_0', content: `${here} lies there.` },
        { role: 'user', content: `${here}!` }
      ],
      tools: [{ type: 'function', function: { name: 'look', description: `Looks for ${here}.`, parameters: schema(here) } }],
      stop: [`end of ${here}`],
      user: here
    }),
    textsOf: answers => {
      const messages = answers.flatMap(({ choices }) => list(choices).map(choice => (choice['message'] ?? choice['delta']) as Json)) // one of both
      const calls = messages.flatMap(message => list(message['tool_calls']))
      return [joined(messages, 'content'), joined(messages, 'reasoning_content'), joined(calls.map(call => call['function'] as Json), 'arguments')]
    }
  },
  completions: {
    path: '/v1/completions',
    request: (model, here) => ({ model, prompt: `Once in ${here}`, suffix: '', stop: `end of ${here}`, max_tokens: 50 }),
    textsOf: answers => [joined(answers.flatMap(({ choices }) => list(choices)), 'text')]
  },
  messages: {
    path: '/v1/messages',
    request: (model, here) => ({
      model,
      max_tokens: 100,
      system: [{ type: 'text', text: `Talk of ${here}.`, cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: `Where is ${here}?`, cache_control: { type: 'ephemeral' } }, { type: 'document', source: { type: 'text', media_type: 'text/plain', data: here }, title: here }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_0', name: 'look', input: { place: here, deep: [{ est: `in ${here}` }] } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_0', content: [{ type: 'text', text: `${here} lies there.` }] }, { type: 'text', text: `${here}!` }] }
      ],
      tools: [{ name: 'look', description: `Looks for ${here}.`, input_schema: schema(here) }],
      stop_sequences: [`end of ${here}`],
      metadata: { user_id: here }
    }),
    textsOf: answers => {
      const blocks = answers.flatMap(({ content, content_block: block, delta }) => [...list(content), ...list([block, delta].filter(value => value !== undefined))])
      return [joined(blocks, 'text'), joined(blocks, 'thinking'), joined(blocks, 'partial_json'), ...blocks.flatMap(({ input }) => input === undefined ? [] : [JSON.stringify(input)])]
    }
  },
  responses: {
    path: '/v1/responses',
    request: (model, here) => ({
      model,
      store: false,
      instructions: `Talk of ${here}.`,
      input: [
        { role: 'user', content: [{ type: 'input_text', text: `Where is ${here}?` }] },
        { type: 'function_call', call_id: 'call_0', name: 'look', arguments: JSON.stringify({ place: here }) },
        { type: 'function_call_output', call_id: 'call_0', output: `${here} lies there.` },
        { role: 'user', content: `${here}!` }
      ],
      tools: [{ type: 'function', name: 'look', description: `Looks for ${here}.`, parameters: schema(here) }],
      metadata: { where: here },
      user: here
    }),
    textsOf: answers => {
      const ofType = (pattern: RegExp): readonly Json[] => answers.filter(({ type }) => pattern.test(String(type)))
      return [
        ...['output_text', 'reasoning_summary_text', 'function_call_arguments'].map(name => joined(ofType(new RegExp(`${name}\\.delta$`)), 'delta')),
        ...answers.map(answer => JSON.stringify(answer))
      ]
    }
  }
}

function list (value: unknown): readonly Json[] {
  return Array.isArray(value) ? value as Json[] : [] // JSON of ours
}

function joined (objects: readonly Json[], name: string): string {
  return objects.map(object => typeof object[name] === 'string' ? object[name] : '').join('')
}

function scriptOf ({ complete, frames }: Protocol): (request: SeenRequest) => Script {
  return ({ json, path }) => {
    const isStreamed = (json as Json)['stream'] === true || path.includes('streamGenerateContent')
    return isStreamed ? { headers: eventStream, pieces: frames } : { headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(complete, null, 1)] }
  }
}

async function start (t: Test, protocol: Protocol, found?: string): Promise<{ upstream: FakeUpstream, api: TestGateway }> {
  const upstream = await fakeUpstream(scriptOf(protocol))
  t.teardown(upstream.close)
  const parts = found === undefined ? {} : withStages(wordStages(undefined, found))
  return { upstream, api: await testGateway(t, { providers: [protocol.provider(upstream.url)] }, {}, parts) }
}

function messagesIn (body: string): Json[] {
  return body.split('\n').flatMap(line => line.startsWith('data: {') ? [JSON.parse(line.slice('data: '.length)) as Json] : [])
}

/** The text of an answer as a provider of this protocol says it, without the word. */
const replaced = said.join('').replaceAll(word, replacement)

for (const [name, protocol] of Object.entries(protocols)) {
  t.test(`a word that a stage replaces is nowhere, in any dialect in front of ${name}`, async t => {
    const { upstream, api } = await start(t, protocol, word)
    for (const [dialectName, { path, request, textsOf }] of Object.entries(dialects)) {
      for (const stream of [false, true]) {
        const title = `${dialectName} ${stream ? 'streamed' : 'complete'}`
        const before = upstream.requests.length
        const response = await api.post(path, { ...takenBy(protocol, request(protocol.model, word)), stream })
        const body = await response.text()
        t.equal(response.status, 200, `${title}: ${body.slice(0, 300)}`)
        const sent = upstream.requests.slice(before).map(({ text }) => text).join('')
        t.notOk(holds(sent), `${title}: not upstream`)
        t.ok(sent.includes(replacement), `${title}: replaced upstream`)
        const texts = textsOf(stream ? messagesIn(body) : [JSON.parse(body) as Json])
        for (const text of [body, ...texts]) t.notOk(holds(text), `${title}: not downstream in ${text.slice(0, 2000)}`)
        t.ok(texts.some(text => text.includes(replaced)), `${title}: replaced downstream in ${texts.join('\n')}`)
      }
    }
  })

  t.test(`what a stage finds nothing in passes as if there were none, in any dialect in front of ${name}`, async t => {
    const plain = await start(t, protocol)
    const looked = await start(t, protocol, 'no such word')
    for (const [dialectName, { path, request }] of Object.entries(dialects)) {
      for (const stream of [false, true]) {
        const title = `${dialectName} ${stream ? 'streamed' : 'complete'}`
        const body = JSON.stringify({ ...takenBy(protocol, request(protocol.model, word)), stream }, null, 2)
        const [expected, answer] = [await plain.api.post(path, body), await looked.api.post(path, body)]
        t.equal(steady(await answer.text()), steady(await expected.text()), title)
        t.equal(looked.upstream.requests.at(-1)?.text, plain.upstream.requests.at(-1)?.text, title)
      }
    }
  })
}

/** Returns whether a text has the word, as it is or by its escape. */
function holds (text: string): boolean {
  return text.replaceAll('\\u005a', 'Z').includes(word)
}

function takenBy ({ lacks = [] }: Protocol, request: Json): Json {
  return Object.fromEntries(Object.entries(request).filter(([name]) => !lacks.includes(name)))
}

/** What differs from call to call. */
function steady (body: string): string {
  return body.replaceAll(/"(?:id|item_id|request_id|call_id)":\s*"[^"]*"|"(?:created|created_at|completed_at)":\s*\d+/g, '""')
}

t.test('where nothing is replaced a direct request is the bytes of its caller, and where a word is only that differs', async t => {
  for (const [dialectName, protocol] of [['messages', protocols.anthropic], ['responses', protocols.responses]] as const) {
    const { path, request } = dialects[dialectName]
    for (const found of ['no such word', word]) {
      const { upstream, api } = await start(t, protocol, found)
      const body = JSON.stringify({ ...request(protocol.model, word), x_unknown: { kept: 1, 'é': '\u2028' } }, null, 3).replace('"kept": 1', '"kept" :1.0 ')
      t.equal((await api.post(path, body)).status, 200, dialectName)
      const expected = body.replace(protocol.model, protocol.model.replace(/^.*\//, ''))
      t.equal(upstream.requests[0]?.text, found === word ? expected.replaceAll(word, replacement) : expected, `${dialectName}: ${found}`)
    }
  }
})

t.test('a word in signed thinking or in a field that is not known refuses the call', async t => {
  const { upstream, api } = await start(t, protocols.anthropic, word)
  const { path, request } = dialects.messages
  const rows: ReadonlyArray<readonly [title: string, fields: Json]> = [
    ['signed thinking', { messages: [{ role: 'user', content: 'hi' }, { role: 'assistant', content: [{ type: 'thinking', thinking: `in ${word}`, signature: 'c2ln' }, { type: 'text', text: 'ok' }] }, { role: 'user', content: 'on' }] }],
    ['an unknown field', { x_new: { deep: [word] } }],
    ['the name of an unknown field', { [`x_${word}`]: 1 }],
    ['an unknown block', { messages: [{ role: 'user', content: [{ type: 'x_block', x_text: word }] }] }],
    ['the name of an argument', { messages: [{ role: 'user', content: 'hi' }, { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: { [word]: 1 } }] }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }] }] }]
  ]
  for (const [title, fields] of rows) {
    const response = await api.post(path, { ...request(protocols.anthropic.model, 'here'), ...fields })
    t.match(await response.json(), { type: 'error', error: { type: 'invalid_request_error', message: 'A word is not allowed here.' } }, title)
    t.equal(response.status, 400, title)
  }
  t.equal(upstream.requests.length, 0)
})
