/** Answers of every adapter with one thing changed that sloppy servers change: they are read rightly, or the caller gets an error. */

import fc from 'fast-check'
import t from 'tap'
import { anthropicChat } from '../../lib/providers/anthropic/index.ts'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { googleChat } from '../../lib/providers/google/index.ts'
import { openaiAdapters } from '../../lib/providers/openai/index.ts'
import { readResponse, streamOf } from '../support/adapters.ts'
import { holds } from '../support/property.ts'
import { readEvents } from '../support/read-events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { Adapter, Ask } from '../../lib/providers/provider.ts'

interface Format {
  readonly adapter: Adapter<ChatInput, ChatEvent>
  readonly responsesOnly?: true
  readonly whole: object
  readonly frames: ReadonlyArray<readonly [event: string | undefined, data: object | string]>
  /** Members that say how an answer is put together; what the model wrote is in the others. */
  readonly structure: readonly string[]
}

const args = { p: 1 }
const json = JSON.stringify(args)

const chatUsage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const chunk = (delta: object, finish: string | null = null, more: object = {}): object => ({
  id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish, logprobs: null }], ...more
})
const call = (fields: object, text: string): object => ({ tool_calls: [{ index: 0, ...fields, function: { ...'id' in fields && { name: 'f' }, arguments: text } }] })

const item = { type: 'message', id: 'm1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'hello', annotations: [] }] }
const callItem = { type: 'function_call', id: 'f1', call_id: 'k', name: 'f', arguments: json, status: 'completed' }
const response = { id: 'r1', object: 'response', created_at: 1, status: 'completed', output: [item, callItem], usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 } }
const responseEvent = (type: string, fields: object): readonly [string, object] => [type, { type, sequence_number: 1, ...fields }]

const formats: Readonly<Record<string, Format>> = {
  'chat completions': {
    adapter: chatCompletions,
    whole: {
      id: 'c1', object: 'chat.completion', created: 1, model: 'm', usage: chatUsage,
      choices: [{ index: 0, message: { role: 'assistant', content: 'hello', refusal: null, tool_calls: [{ id: 'k', type: 'function', function: { name: 'f', arguments: json } }] }, finish_reason: 'tool_calls', logprobs: null }]
    },
    frames: [
      [undefined, chunk({ role: 'assistant', content: '' })], [undefined, chunk({ content: 'hel' })], [undefined, chunk({ content: 'lo' })],
      [undefined, chunk(call({ id: 'k', type: 'function' }, ''))], [undefined, chunk(call({}, '{"p"'))], [undefined, chunk(call({}, ':1}'))],
      [undefined, chunk({}, 'tool_calls')], [undefined, { ...chunk({}), choices: [], usage: chatUsage }], [undefined, '[DONE]']
    ],
    structure: ['id', 'object', 'created', 'model', 'index', 'role', 'refusal', 'type', 'logprobs', 'usage', 'prompt_tokens', 'completion_tokens', 'total_tokens']
  },
  anthropic: {
    adapter: anthropicChat,
    whole: {
      id: 'm1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'tool_use', stop_sequence: null, usage: { input_tokens: 11, output_tokens: 7 },
      content: [{ type: 'text', text: 'hello', citations: null }, { type: 'tool_use', id: 'k', name: 'f', input: args }]
    },
    frames: [
      ['message_start', { type: 'message_start', message: { id: 'm1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage: { input_tokens: 11, output_tokens: 1 } } }],
      ['content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }], ['ping', { type: 'ping' }],
      ['content_block_delta', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } }], ['content_block_stop', { type: 'content_block_stop', index: 0 }],
      ['content_block_start', { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'k', name: 'f', input: {} } }],
      ['content_block_delta', { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: json } }], ['content_block_stop', { type: 'content_block_stop', index: 1 }],
      ['message_delta', { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 7 } }], ['message_stop', { type: 'message_stop' }]
    ],
    structure: ['role', 'model', 'stop_sequence', 'usage', 'input_tokens', 'output_tokens', 'citations']
  },
  google: {
    adapter: googleChat,
    whole: {
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'hello' }, { functionCall: { id: 'k', name: 'f', args } }] }, finishReason: 'STOP', safetyRatings: [] }],
      usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 }, modelVersion: 'm', responseId: 'r'
    },
    frames: [
      [undefined, { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'hel' }] } }], usageMetadata: { promptTokenCount: 11 }, responseId: 'r' }],
      [undefined, { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'lo' }] } }], usageMetadata: { promptTokenCount: 11 }, responseId: 'r' }],
      [undefined, { candidates: [{ index: 0, content: { role: 'model', parts: [{ functionCall: { id: 'k', name: 'f', args } }] }, finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7 }, responseId: 'r' }]
    ],
    structure: ['index', 'role', 'id', 'usageMetadata', 'promptTokenCount', 'candidatesTokenCount', 'totalTokenCount', 'modelVersion', 'responseId', 'safetyRatings']
  },
  responses: {
    adapter: openaiAdapters.chat,
    responsesOnly: true,
    whole: response,
    frames: [
      responseEvent('response.created', { response: { ...response, status: 'in_progress', output: [], usage: null } }),
      responseEvent('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', content: [] } }),
      responseEvent('response.output_text.delta', { output_index: 0, item_id: 'm1', content_index: 0, delta: 'hello' }),
      responseEvent('response.output_text.done', { output_index: 0, item_id: 'm1', content_index: 0, text: 'hello' }),
      responseEvent('response.output_item.done', { output_index: 0, item }),
      responseEvent('response.output_item.added', { output_index: 1, item: { ...callItem, arguments: '', status: 'in_progress' } }),
      responseEvent('response.function_call_arguments.delta', { output_index: 1, item_id: 'f1', delta: json }),
      responseEvent('response.output_item.done', { output_index: 1, item: callItem }),
      responseEvent('response.completed', { response })
    ],
    structure: ['sequence_number', 'item_id', 'content_index', 'object', 'created_at', 'role', 'annotations', 'id', 'usage', 'input_tokens', 'output_tokens', 'total_tokens']
  }
}

function askFor ({ responsesOnly }: Format): Ask<ChatInput> {
  return {
    request: { model: 'x/m', messages: [{ role: 'user', content: 'hi' }], tools: [{ type: 'function', function: { name: 'f' } }] },
    route: { providerId: 'x', model: 'm', modelId: 'x/m', ...responsesOnly && { traits: { responsesOnly } } }, quirks: {}, streamed: false
  }
}

/** Changes the nth member whose name is one of these. */
function changed (value: unknown, names: readonly string[], count: { left: number }, change: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(item => changed(item, names, count, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).flatMap(([name, inner]) => {
    if (!names.includes(name) || count.left-- !== 0) return [[name, changed(inner, names, count, change)]]
    const member = change(inner)
    return member === undefined ? [] : [[name, member]]
  }))
}

const changes: ReadonlyArray<(value: unknown) => unknown> = [() => undefined, () => null, value => typeof value === 'number' ? String(value) : value, () => '', () => 7, () => 'other', () => [], () => ({})]

/** Returns what the caller gets: the text and the calls, or `undefined` for an error. */
function outcome (read: () => readonly ChatEvent[]): unknown {
  let events: readonly ChatEvent[]
  try {
    events = read()
  } catch (error) {
    if (error instanceof TypeError) throw error // a fault of ours
    return undefined
  }
  const joined = (type: ChatEvent['type']): string => events.map(event => event.type === type && 'text' in event ? event.text : '').join('')
  return [joined('text-delta'), events.flatMap(event => event.type === 'tool-call-start' ? [event.name] : []), joined('tool-call-delta')]
}

const right = JSON.stringify(['hello', ['f'], json])
const isRightOrError = (result: unknown): boolean => result === undefined || JSON.stringify(result) === right

function streamOfFrames (format: Format, frames: Format['frames']): readonly ChatEvent[] {
  const text = frames.map(([event, data]) => `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join('')
  return readEvents([Buffer.from(text)], streamOf(format.adapter, askFor(format)))
}

for (const [name, format] of Object.entries(formats)) {
  t.test(`${name}: the answers are read as they are`, async t => {
    t.equal(JSON.stringify(outcome(() => readResponse(format.adapter, format.whole, askFor(format)))), right)
    t.equal(JSON.stringify(outcome(() => streamOfFrames(format, format.frames))), right)
  })

  t.test(`${name}: a member of the structure that is another way changes neither text nor calls`, async t => {
    holds(t, fc.property(fc.nat(20), fc.constantFrom(...changes), (left, change) =>
      isRightOrError(outcome(() => readResponse(format.adapter, changed(format.whole, format.structure, { left }, change), askFor(format))))), { numRuns: 160 })
    holds(t, fc.property(fc.nat(60), fc.constantFrom(...changes), (left, change) => {
      const count = { left }
      return isRightOrError(outcome(() => streamOfFrames(format, format.frames.map(([event, data]) => [event, typeof data === 'string' ? data : changed(data, format.structure, count, change) as object]))))
    }), { numRuns: 480 })
  })

  t.test(`${name}: events that say nothing, unknown ones and names that are missing change nothing`, async t => {
    const place = fc.nat(format.frames.length)
    const filler = fc.constantFrom<readonly [string | undefined, object | string]>([undefined, ''], ['ping', '{"type":"ping"}'], ['keepalive', ''], ['of_the_future', '{"type":"of_the_future","a":1}'])
    holds(t, fc.property(place, filler, (index, frame) =>
      isRightOrError(outcome(() => streamOfFrames(format, format.frames.toSpliced(index, 0, frame))))), { numRuns: 60 })
    holds(t, fc.property(place, index =>
      isRightOrError(outcome(() => streamOfFrames(format, format.frames.map(([event, data], at) => [at === index ? undefined : event, data]))))), { numRuns: 30 })
  })

  t.test(`${name}: an answer whose announcement or end is missing is right, or an error`, async t => {
    const content = new Set(format.frames.flatMap(([, data], index) => /hel|"lo"|\\"p|:1|"args"|"name"/.test(JSON.stringify(data)) ? [index] : []))
    holds(t, fc.property(fc.nat(format.frames.length - 1), index => content.has(index) || isRightOrError(outcome(() => streamOfFrames(format, format.frames.toSpliced(index, 1))))), { numRuns: 40 })
  })
}
