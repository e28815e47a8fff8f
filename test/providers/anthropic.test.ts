import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { toCompletion } from '../../lib/dialects/chat-completions/complete.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { anthropicChat, anthropicHeaders } from '../../lib/providers/anthropic/index.ts'
import { toolCallIdOf } from '../../lib/providers/anthropic/tool-call-id.ts'
import { families } from '../../lib/models/catalogue.ts'
import { familyTraits } from '../../lib/models/traits.ts'
import { errorOf, readResponse, readerOf, streamOf } from '../support/adapters.ts'
import { cut, cutSizes } from '../support/cuts.ts'
import { readEvents } from '../support/read-events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { Completion } from '../../lib/dialects/chat-completions/fold.ts'
import type { Ask } from '../../lib/providers/provider.ts'
import type { MessagesRequest } from '../../lib/providers/anthropic/wire.ts'

const fixtures = join(import.meta.dirname, '../../../test/fixtures/anthropic')

function read (name: string): Buffer {
  return readFileSync(join(fixtures, name))
}

function ask (request: Partial<ChatInput> = {}, model = 'claude-haiku-4-5', streamed = false): Ask<ChatInput> {
  return {
    request: { model: `anthropic/${model}`, messages: [{ role: 'user', content: 'hi' }], ...request },
    route: { providerId: 'anthropic', model, modelId: `anthropic/${model}`, traits: familyTraits(families, 'anthropic', model) },
    quirks: {},
    streamed
  }
}

function bodyOf (question: Ask<ChatInput>): MessagesRequest {
  return JSON.parse(String(anthropicChat.request(question).body)) as MessagesRequest // what it is printed from
}

function body (request: Partial<ChatInput>, model?: string): MessagesRequest {
  return bodyOf(ask(request, model))
}

/** Fixtures of deprecated calls answer a caller who offers deprecated functions. */
function question (fixture: string): Ask<ChatInput> {
  return ask(fixture.startsWith('legacy') ? { functions: [{ name: 'ferry_times' }] } : {})
}

function stream (name: string): ChatEvent[] {
  return readEvents([read(`${name}.sse`)], streamOf(anthropicChat, question(name)))
}

function eventsOf (...messages: object[]): ChatEvent[] {
  return readEvents([sse(messages)], streamOf(anthropicChat, ask()))
}

function sse (messages: readonly object[]): Buffer {
  return Buffer.from(messages.map(message => {
    return `event: ${String(Reflect.get(message, 'type'))}\ndata: ${JSON.stringify(message)}\n\n`
  }).join(''))
}

/** Folds events into what a caller gets without `stream`; arguments compare as values, because spacing may differ. */
function folded (events: readonly ChatEvent[]): Completion {
  const [head, ...rest] = events
  t.equal(head?.type, 'response-start')
  const started = { ...head, type: 'response-start' as const, id: 'chatcmpl-1', model: 'anthropic/m', createdSeconds: 1 }
  const text = JSON.stringify(toCompletion([{ events: [started, ...rest] }]), (key, value: unknown) => {
    return key === 'arguments' ? JSON.stringify(JSON.parse(String(value))) : value // spaces aside
  })
  return JSON.parse(text) as Completion // what it was printed from
}

const start = { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } } }
const textStart = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
const half = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'half' } }
const finish = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }
const stop = { type: 'message_stop' }

t.test('every request becomes the body that its fixture shows', async t => {
  const names = readdirSync(fixtures).filter(name => name.endsWith('.request.json'))
  t.ok(names.length > 30)
  for (const name of names) {
    const { model, streamed, request, body: expected } = JSON.parse(read(name).toString())
    t.strictSame(bodyOf(ask(request, model, streamed === true)), expected, name)
  }
})

t.test('every recorded stream gives its events, however its bytes are cut', async t => {
  const names = readdirSync(fixtures).filter(name => name.endsWith('.sse'))
  t.ok(names.length > 15)
  for (const name of names) {
    const expected: unknown = JSON.parse(read(name.replace('.sse', '.events.json')).toString())
    for (const size of cutSizes) {
      const events = readEvents(cut(read(name), size), streamOf(anthropicChat, question(name)))
      t.strictSame(events, expected, `${name} ${size}`)
    }
  }
})

t.test('a complete answer gives what the stream of the same answer folds to', async t => {
  const names = readdirSync(fixtures).filter(name => name.endsWith('.json') && !/\.(?:events|request)\./.test(name))
  t.ok(names.length > 8)
  for (const name of names.map(name => name.replace('.json', ''))) {
    const complete = readResponse(anthropicChat, JSON.parse(read(`${name}.json`).toString()), question(name))
    t.strictSame(folded(complete), folded(stream(name)), name)
  }
})

t.test('any answer, streamed in any pieces, folds to the complete answer', async t => {
  const pieces = fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 4 })
  const block = fc.oneof(
    pieces.map(texts => ({ type: 'text' as const, texts })),
    pieces.map(texts => ({ type: 'thinking' as const, texts })),
    fc.record({ type: fc.constant('tool_use' as const), input: fc.dictionary(fc.string(), fc.jsonValue()), at: fc.nat(20) }),
    fc.constant({ type: 'server_tool_use' as const })
  )
  fc.assert(fc.property(fc.array(block, { maxLength: 5 }), fc.nat(500), (blocks, outputTokens) => {
    const content: object[] = []
    const messages: object[] = [start]
    for (const [index, block] of blocks.entries()) {
      const begin = (value: object): number => messages.push({ type: 'content_block_start', index, content_block: value })
      const add = (delta: object): number => messages.push({ type: 'content_block_delta', index, delta })
      if (block.type === 'text') {
        begin({ type: 'text', text: '' })
        for (const text of block.texts) add({ type: 'text_delta', text })
        content.push({ type: 'text', text: block.texts.join('') })
      } else if (block.type === 'thinking') {
        begin({ type: 'thinking', thinking: '', signature: '' })
        for (const thinking of block.texts) add({ type: 'thinking_delta', thinking })
        add({ type: 'signature_delta', signature: 'c2ln' })
        content.push({ type: 'thinking', thinking: block.texts.join(''), signature: 'c2ln' })
      } else if (block.type === 'tool_use') {
        const head = { type: 'tool_use', id: `toolu_${index}`, name: 'f' }
        const text = JSON.stringify(block.input)
        begin({ ...head, input: {} })
        for (const piece of [text.slice(0, block.at), text.slice(block.at)]) {
          if (text !== '{}') add({ type: 'input_json_delta', partial_json: piece })
        }
        content.push({ ...head, input: block.input })
      } else {
        begin(block)
        add({ type: 'input_json_delta', partial_json: '{"query":1}' })
        content.push(block)
      }
      messages.push({ type: 'content_block_stop', index })
    }
    messages.push({ ...finish, usage: { output_tokens: outputTokens } }, stop)
    const complete = { type: 'message', content, stop_reason: 'end_turn', usage: { input_tokens: 5, output_tokens: outputTokens } }
    t.strictSame(folded(eventsOf(...messages)), folded(readResponse(anthropicChat, complete, ask())))
  }), { numRuns: 60 })
})

t.test('the request goes to the Messages API in the one version whose models still sample', async t => {
  t.strictSame({ ...anthropicChat.request(ask()), body: '' }, {
    method: 'POST',
    path: '/v1/messages',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', accept: 'application/json' },
    body: ''
  })
  t.equal(anthropicChat.request(ask({}, 'm', true)).headers['accept'], 'text/event-stream')
  t.strictSame(anthropicHeaders('secret'), { 'x-api-key': 'secret' })
  t.equal(anthropicChat.split?.(ask({ n: 4 })).length, 4)
})

t.test('what this provider cannot do is refused before anything is sent, with the parameter at fault', async t => {
  const refused = (request: Partial<ChatInput>, param: string, code = 'invalid_value', model?: string): void => {
    t.throws(() => body(request, model), { name: 'GatewayError', status: 400, code, param }, param)
  }
  const unsupported = 'unsupported_parameter'
  const user = (...content: object[]): Partial<ChatInput> =>
    ({ messages: [{ role: 'user', content: content as never }] }) // parts as they come from callers
  const calls = (...calls: object[]): ChatInput['messages'] =>
    [{ role: 'user', content: 'hi' }, { role: 'assistant', tool_calls: calls as never }] // as above
  const call = (id: string, text = '{}'): object => ({ id, type: 'function', function: { name: 'now', arguments: text } })
  const tools: ChatInput['tools'] = [{ type: 'function', function: { name: 'now' } }]
  const thinking = { type: 'enabled' as const, budget_tokens: 2000 }

  refused({ response_format: { type: 'text' } }, 'response_format', unsupported)
  refused({ audio: { format: 'wav', voice: 'alloy' } }, 'audio', unsupported)
  refused({ modalities: ['text', 'audio'] }, 'modalities', unsupported)
  refused(user({ type: 'text', text: 'hear' }, { type: 'input_audio', input_audio: { data: '', format: 'wav' } }), 'messages[0].content[1]', unsupported)
  refused(user({ type: 'file', file: { file_id: 'file-1' } }), 'messages[0].content[0].file.file_id', unsupported)
  refused(user({ type: 'file', file: {} }), 'messages[0].content[0].file.file_data')
  refused(user({ type: 'file', file: { file_data: 'data:application/zip;base64,UEs=' } }), 'messages[0].content[0].file.file_data')
  refused(user({ type: 'image_url', image_url: { url: 'data:image/bmp;base64,Qk0=' } }), 'messages[0].content[0].image_url.url')
  refused(user({ type: 'image_url', image_url: { url: 'data:image/png,raw' } }), 'messages[0].content[0].image_url.url')
  refused(user({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }), 'messages[0].content[0].image_url.url')
  refused({ messages: [{ role: 'system', content: 'alone' }, { role: 'user', content: '' }] }, 'messages')
  refused({ messages: [{ role: 'assistant', content: ' \n' }] }, 'messages')

  refused({ tools: [...tools, { type: 'custom', custom: { name: 'sql' } }] }, 'tools[1].type', unsupported)
  refused({ tools, tool_choice: { type: 'custom', custom: { name: 'sql' } } }, 'tool_choice.type', unsupported)
  refused({ tools: [{ function: { name: 'a.b' } }] }, 'tools[0].function.name')
  refused({ functions: [{ name: 'ok' }, { name: 'é' }] }, 'functions[1].name')
  refused({ tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'later' } }] } } }, 'tool_choice.allowed_tools.tools')
  refused({ tools, tool_choice: 'required' }, 'tool_choice', unsupported, 'claude-opus-5-5-20260301')

  refused({ messages: calls(call('a', '[1]')) }, 'messages[1].tool_calls[0].function.arguments')
  refused({ messages: calls(call('a'), call('b', '{"x":')) }, 'messages[1].tool_calls[1].function.arguments')
  refused({ messages: calls({ id: 'a', type: 'custom', custom: { name: 'sql', input: '' } }) }, 'messages[1].tool_calls[0].type', unsupported)
  refused({ messages: [{ role: 'assistant', function_call: { name: 'f', arguments: '1' } }] }, 'messages[0].function_call.arguments')
  refused({ messages: [{ role: 'tool', tool_call_id: 'a', content: '' }] }, 'messages[0].tool_call_id')
  refused({ messages: [{ role: 'function', name: 'f', content: '' }] }, 'messages[0].name')
  refused({ messages: calls(call('a'), call('b')) }, 'messages[1].tool_calls[0].id')
  refused({ messages: [...calls(call('a'), call('b')), { role: 'tool', tool_call_id: 'a', content: '' }, { role: 'user', content: '?' }] }, 'messages[1].tool_calls[1].id')
  refused({ messages: [...calls(call('a')), { role: 'tool', tool_call_id: 'a', content: '' }, { role: 'assistant', content: 'x' }, { role: 'tool', tool_call_id: 'a', content: '' }] }, 'messages[4].tool_call_id')

  refused({ thinking, max_completion_tokens: 2000 }, 'thinking.budget_tokens')
  refused({ thinking: { type: 'enabled', budget_tokens: 64_000 } }, 'thinking.budget_tokens')
  refused({ thinking, tools, tool_choice: 'required' }, 'tool_choice', unsupported)
  refused({ thinking, functions: [{ name: 'now' }], function_call: { name: 'now' } }, 'function_call', unsupported)
})

t.test('a tool call without a result is named in the refusal', async t => {
  const call = (id: string): object => ({ id, type: 'function', function: { name: 'now', arguments: '{}' } })
  const messages = [
    { role: 'user', content: 'hi' }, { role: 'assistant', tool_calls: [call('a'), call('b')] }, { role: 'tool', tool_call_id: 'a', content: '' }
  ] as ChatInput['messages'] // the calls are plain objects, as they come from callers
  t.throws(() => body({ messages }), { code: 'invalid_value', message: /; `b` has none\./ })
})

t.test('models that can be forced to use a tool are', async t => {
  for (const model of ['claude-opus-5', 'claude-opus-5-20260724', 'claude-fable-5', 'claude-fable-5-20260609', 'claude-haiku-5-5', 'claude-sonnet-4-6']) {
    const { tool_choice: choice } = body({ tools: [{ type: 'function', function: { name: 'now' } }], tool_choice: 'required' }, model)
    t.same(choice, { type: 'any' }, model)
  }
})

t.test('no model gets more than it takes', async t => {
  const everything: Partial<ChatInput> = { reasoning_effort: 'low', temperature: 0.5, max_tokens: 200_000 }
  const row = (models: string[], maxTokens: number, thinks: 'adaptive' | 'enabled' | 'not', samples: boolean): void => {
    for (const model of models) {
      const { max_tokens: limit, thinking } = body(everything, model)
      const { temperature } = body({ temperature: 0.5 }, model)
      t.strictSame([limit, thinking?.type ?? 'not', temperature], [maxTokens, thinks, samples ? 0.5 : undefined], model)
    }
  }
  row(['claude-sonnet-5-5', 'claude-opus-5', 'claude-fable-5-1', 'claude-opus-4-7', 'claude-next'], 128_000, 'adaptive', false)
  row(['claude-opus-4-6', 'claude-sonnet-4-6-20260101'], 128_000, 'adaptive', true)
  row(['claude-haiku-4-5-20251001', 'claude-sonnet-4-20250514', 'claude-3-7-sonnet-latest'], 64_000, 'enabled', true)
  row(['claude-opus-4-20250514', 'claude-opus-4-1-20250805'], 32_000, 'enabled', true)
  row(['claude-3-5-sonnet-20241022'], 8192, 'not', true)
  row(['claude-3-opus-20240229', 'claude-instant-1.2'], 4096, 'not', true)
  row(['another-vendors-model'], 200_000, 'enabled', true)
})

t.test('the tier that served an answer has the name of our API', async t => {
  const tiers = ['standard', 'batch', 'priority', 'unheard of', null].map(tier => {
    const [head] = readResponse(anthropicChat, { content: [], usage: { service_tier: tier } }, ask())
    return head?.type === 'response-start' ? head.serviceTier : 'no head'
  })
  t.strictSame(tiers, ['default', 'default', 'priority', undefined, undefined])
})

t.test('ids of tool calls become legal, stay the same, and never meet', async t => {
  t.equal(toolCallIdOf('toolu_01-A'), 'toolu_01-A')
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => {
    t.match(toolCallIdOf(a), /^[a-zA-Z0-9_-]+$/)
    t.equal(toolCallIdOf(a) === toolCallIdOf(b), a === b)
    // An id that looks like one of ours is another vendor's too.
    t.not(toolCallIdOf(toolCallIdOf(`${a}:`)), toolCallIdOf(`${a}:`))
  }))
})

t.test('user ids that name a person are left out', async t => {
  for (const user of ['jane@piers.example', 'Jane <jane@piers.example>', '+44 1475 650100', '(01475) 650-100', '014756501005', ' ']) {
    t.equal(body({ user }).metadata, undefined, user)
  }
  for (const user of ['u-1', '4711', '5f0c6c5e-6d5a-4c57-9a52-0b3b0b8f4d21', 'sha256:ab12']) {
    t.strictSame(body({ user }).metadata, { user_id: user })
  }
})

t.test('mistakes that other gateways made in the request', async t => {
  await t.test('a temperature over 1 is clamped', async t => {
    t.equal(body({ temperature: 1.2 }).temperature, 1)
  })
  await t.test('no system message is lost', async t => {
    const { system } = body({ messages: [{ role: 'system', content: 'a' }, { role: 'user', content: 'b' }, { role: 'system', content: 'c' }] })
    t.strictSame(system, [{ type: 'text', text: 'a' }, { type: 'text', text: 'c' }])
  })
  await t.test('results of parallel calls are one message, in front, in the order of the calls', async t => {
    const { messages } = JSON.parse(read('tool-round.request.json').toString()).body as MessagesRequest // our fixture
    t.match(messages[2]?.content, [{ type: 'tool_result', tool_use_id: 'toolu_1' }, { type: 'tool_result' }, { type: 'text' }])
    t.equal(messages.length, 5)
  })
  await t.test('no empty text stands beside a tool call', async t => {
    const { messages } = body({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: '', tool_calls: [{ id: 'a', function: { name: 'now', arguments: '' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'x' }
      ]
    })
    t.strictSame(messages[1]?.content, [{ type: 'tool_use', id: 'a', name: 'now', input: {} }])
  })
  await t.test('thinking without its signature is not sent back', async t => {
    t.notMatch(JSON.stringify(JSON.parse(read('unsigned-thinking.request.json').toString()).body), /think|because/)
  })
  await t.test('a forced tool and thinking do not meet', async t => {
    const { thinking, tool_choice: choice } = body({
      reasoning_effort: 'high', tools: [{ function: { name: 'now' } }], tool_choice: 'required'
    })
    t.strictSame([thinking, choice], [undefined, { type: 'any' }])
  })
})

t.test('mistakes that other gateways made in the answer', async t => {
  await t.test('tool calls are counted apart from other blocks', async t => {
    t.strictSame(stream('tools').flatMap(event => event.type === 'tool-call-start' ? [event.call] : []), [0, 1, 2])
  })
  await t.test('a call without arguments has an empty object', async t => {
    t.match(stream('tool-only').find(event => event.type === 'tool-call-delta'), { text: '{}' })
  })
  await t.test('usage of the start and the end is not added up, nor that of the end lost', async t => {
    t.match(stream('text').at(-1), { usage: { promptTokens: 12, completionTokens: 9, totalTokens: 21 } })
    t.match(stream('late-usage').at(-1), { usage: { promptTokens: 17, completionTokens: 5 } })
  })
  await t.test('cached tokens are part of the prompt', async t => {
    t.match(stream('cache-usage').at(-1), { usage: { promptTokens: 1203, cachedTokens: 1000, cacheWriteTokens: 200 } })
  })
  await t.test('a stream that breaks off is an error, not an end', async t => {
    for (const messages of [[], [start], [start, textStart, half]]) {
      t.throws(() => eventsOf(...messages), { code: 'upstream_stream_interrupted', status: 502 })
    }
    t.throws(() => readEvents([Buffer.concat([sse([start, textStart, half]), Buffer.from('event: message_delta\ndata: {"type":"mess')])], streamOf(anthropicChat, ask())), GatewayError)
    for (const reason of ['end_turn', 'yet to be invented']) {
      t.match(eventsOf(start, textStart, half, { ...finish, delta: { stop_reason: reason } }).at(-1), { type: 'usage' })
    }
  })
  await t.test('an error after a good status is an error, first or half-way', async t => {
    const error = (type: string): object => ({ type: 'error', error: { type, message: 'x' }, request_id: 'req_1' })
    t.throws(() => eventsOf(error('overloaded_error')), { code: 'upstream_overloaded', status: 503, type: 'server_error' })
    t.throws(() => eventsOf(start, textStart, half, error('api_error')), { code: 'upstream_error' })
    t.throws(() => eventsOf(start, error('rate_limit_error')), { code: 'rate_limit_exceeded', fault: 'rate_limit' })
    t.throws(() => eventsOf(start, error('invalid_request_error')), { code: 'upstream_invalid_request', message: 'x' })
    t.throws(() => readEvents([Buffer.from('event: error\ndata: it broke\n\n')], streamOf(anthropicChat, ask())), { code: 'upstream_error' })
    t.throws(() => readEvents([Buffer.from(`data: ${JSON.stringify(error('timeout_error'))}\n\n`)], streamOf(anthropicChat, ask())), { code: 'upstream_timeout' })
    const reader = streamOf(anthropicChat, ask())
    const read = readerOf(reader)
    const before = [start, textStart, half].flatMap(message => read({ event: message.type, data: JSON.stringify(message), id: undefined }))
    t.match(before.at(-1), { type: 'text-delta', text: 'half' }, 'what came before the error is there')
  })
  await t.test('every stop reason is a finish reason, those yet to be invented too', async t => {
    const reasons = ['pause-turn', 'refusal', 'stop-sequence', 'context-window', 'unknown-stop', 'null-stop'].map(name => {
      const end = stream(name).find(event => event.type === 'choice-end')
      return end?.type === 'choice-end' ? end.reason : undefined
    })
    t.strictSame(reasons, ['stop', 'content_filter', 'stop', 'length', 'stop', 'stop'])
  })
})

t.test('a second answer in one stream is refused, the first one repeated is not', async t => {
  const second = { type: 'message_start', message: { id: 'msg_2' } }
  t.throws(() => eventsOf(start, textStart, half, second), { code: 'upstream_invalid_response' })
  t.equal(eventsOf(start, start, finish, stop).filter(event => event.type === 'response-start').length, 1)
})

t.test('the stream is over at its last event: what follows is not read', async t => {
  const reader = streamOf(anthropicChat, ask())
    const read = readerOf(reader)
  for (const message of [start, finish]) read({ event: message.type, data: JSON.stringify(message), id: undefined })
  t.equal(reader.done, false)
  t.match(read({ event: 'message_stop', data: '{}', id: undefined }), [{ type: 'choice-end' }, { type: 'usage' }])
  t.equal(reader.done, true)
})

t.test('an answer that is none is refused', async t => {
  for (const answer of [null, 'text', [], {}, { type: 'message' }, { content: 'text' }]) {
    t.throws(() => readResponse(anthropicChat, answer, ask()), { code: 'upstream_invalid_response', status: 502 })
  }
  t.throws(() => readResponse(anthropicChat, { type: 'error', error: { type: 'overloaded_error' } }, ask()), { code: 'upstream_overloaded' })
  t.throws(() => readEvents([Buffer.from('data: <html>\n\n')], streamOf(anthropicChat, ask())), { code: 'upstream_invalid_response' })
})

t.test('fields of the wrong type in an answer break nothing', async t => {
  const block = (content_block: unknown): object => ({ type: 'content_block_start', index: 0, content_block })
  const delta = (delta: unknown): object => ({ type: 'content_block_delta', index: 0, delta })
  t.doesNotThrow(() => eventsOf(
    { type: 'message_start', message: null }, block(null), delta(null), block({ type: 'text', text: 4, citations: [null, {}] }),
    delta({ type: 'citations_delta' }), delta({ type: 'text_delta' }), delta({ type: 'thinking_delta', thinking: 'lost' }),
    { type: 'content_block_stop' }, block({ type: 'tool_use' }), block({ type: 'tool_use', name: 'f', input: 'x' }),
    delta({ type: 'input_json_delta', partial_json: 7 }), { type: 'message_delta' }, { ...finish, usage: { output_tokens: 'many' } }, stop
  ))
})

t.test('a refusal by status is mapped, and its words reach only the caller at fault', async t => {
  const row = (
    status: number, text: unknown, expected: Record<string, unknown>, headers = {}, callerKey = false
  ): void => {
    const error = errorOf(anthropicChat, { status, headers, body: text }, ask(), callerKey ? 'own-key' : undefined)
    const { code, status: ours, message, fault: failure, param, type, retryAfterSeconds: after } = error
    t.match({ code, status: ours, message, failure, param, type, after }, expected, `${status} ${JSON.stringify(text)}`)
  }
  const said = (type: string, message: string): unknown => ({ type: 'error', error: { type, message }, request_id: 'req_01' })
  const key = said('authentication_error', 'invalid x-api-key sk-ant-REDACTED')

  row(400, said('invalid_request_error', 'max_tokens: must be positive'), { code: 'upstream_invalid_request', status: 400, message: 'max_tokens: must be positive', failure: 'caller' })
  row(400, said('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'), { code: 'context_length_exceeded', status: 400, failure: 'context_length', param: 'messages' })
  row(400, said('invalid_request_error', 'input length and `max_tokens` exceed context limit: 1 + 2 > 2'), { code: 'context_length_exceeded' })
  row(400, said('invalid_request_error', 'Your credit balance is too low to access the API.'), { code: 'upstream_quota_exhausted', status: 503, failure: 'credential', message: /gateway/ })
  row(422, said('invalid_request_error', 'x'), { code: 'upstream_invalid_request', status: 400 })
  row(413, said('request_too_large', 'too large'), { code: 'upstream_invalid_request', status: 413 })
  row(409, said('conflict_error', 'conflict'), { code: 'upstream_invalid_request', status: 409 })
  row(404, said('not_found_error', 'model: claude-9'), { code: 'model_not_found', status: 404, param: 'model', message: 'model: claude-9' })
  row(401, key, { code: 'upstream_auth_failed', status: 502, failure: 'credential', type: 'server_error', message: /gateway/ })
  row(403, said('permission_error', 'no'), { code: 'upstream_auth_failed', status: 502 })
  row(402, said('billing_error', 'pay'), { code: 'upstream_quota_exhausted', status: 503 })
  row(401, key, { code: 'invalid_provider_key', status: 401, type: 'authentication_error', message: /redacted/ }, {}, true)
  row(402, said('billing_error', 'pay'), { code: 'insufficient_quota', status: 402, message: 'pay' }, {}, true)
  row(403, said('permission_error', 'no'), { code: 'invalid_provider_key', status: 403 }, {}, true)
  row(429, said('rate_limit_error', 'organization acme'), { code: 'rate_limit_exceeded', status: 429, type: 'rate_limit_error', failure: 'rate_limit', after: 7, message: /^(?!.*acme)/ }, { 'retry-after': '7' })
  row(429, said('rate_limit_error', 'slow'), { after: 60 }, { 'retry-after': '3600' })
  row(529, said('overloaded_error', 'Overloaded'), { code: 'upstream_overloaded', status: 503, failure: 'transient', after: 3 }, { 'retry-after': '3' })
  row(504, said('timeout_error', 'slow'), { code: 'upstream_timeout', status: 504, failure: 'transient' })
  row(500, said('api_error', 'host db-1 req_01'), { code: 'upstream_error', status: 502, failure: 'transient', message: 'The provider failed to answer.' })
  row(502, '<html>nginx</html>', { code: 'upstream_error', status: 502 })
  row(400, '<html>nginx</html>', { code: 'upstream_invalid_request', message: 'The provider refused the request.' })
  row(400, said('invalid_request_error', 'see req_01AB of 5f0c6c5e-6d5a-4c57-9a52-0b3b0b8f4d21'), { message: 'see [redacted] of [redacted]' })

  for (const ownKey of [undefined, 'own-key']) {
    const error = errorOf(anthropicChat, { status: 401, headers: {}, body: key }, ask(), ownKey)
    t.notMatch(JSON.stringify([error.toBody(), error.cause]), /sk-ant/)
  }
})
