/**
 * Provider streams in every format are read and passed on in time linear in their size.
 */

import t from 'tap'
import { answers } from './answer-events.ts'
import { scalesWith } from '../support/scaling.ts'
import { messages } from '../../lib/dialects/messages/index.ts'
import { responsesDialect } from '../../lib/dialects/responses/index.ts'
import { textCompletions } from '../../lib/dialects/text-completions/index.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { providerKinds } from '../../schemas/providers.ts'
import { readEvents } from '../support/read-events.ts'
import { responsesStart } from '../support/responses.ts'
import { providerSettings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import { sseDecoder } from '../../lib/wire/sse-decoder.ts'
import { streamOf } from '../support/adapters.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { DirectDialect } from '../../lib/core/events.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { AnswerDialect, AnswerStart } from '../../lib/dialects/dialect.ts'
import type { Adapter, AdapterInput } from '../../lib/providers/provider.ts'

const list = <T>(size: number, item: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => item(index))
const nested = (depth: number): unknown =>
  list(depth, index => index).reduce<unknown>(inner => ({ a: inner }), 1)

/** The events of one format: those around an answer, and those with one thing. */
interface Format {
  readonly begin: readonly object[]
  readonly text: (text: string) => object
  readonly reasoning: (text: string) => object
  readonly call: (index: number) => readonly object[]
  readonly argumentsOf: (index: number, text: string) => object
  readonly end: readonly object[]
  /** Printed as `data: …` after the events. */
  readonly done?: string
}

const chunk = (delta: object, finish: string | null = null): object => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason: finish }]
})
const fragment = (parts: readonly object[], finish?: string): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: finish }]
})
const completed = { id: 'r', status: 'completed', output: [], usage: { input_tokens: 1, output_tokens: 1 } }

const formats = {
  chunks: {
    begin: [chunk({ role: 'assistant', content: '' })],
    text: text => chunk({ content: text }),
    reasoning: text => chunk({ reasoning_content: text }),
    call: index => [
      chunk({
        tool_calls: [
          { index, id: `call_${index}`, type: 'function', function: { name: 'get', arguments: '' } }
        ]
      })
    ],
    argumentsOf: (index, text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
    end: [chunk({}, 'stop')],
    done: '[DONE]'
  },
  messages: {
    begin: [
      { type: 'message_start', message: { id: 'm', usage: { input_tokens: 1, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
    ],
    text: text => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    reasoning: text => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking: text }
    }),
    call: index => [
      {
        type: 'content_block_start',
        index: index + 1,
        content_block: { type: 'tool_use', id: `toolu_${index}`, name: 'get', input: {} }
      }
    ],
    argumentsOf: (index, text) => ({
      type: 'content_block_delta',
      index: index + 1,
      delta: { type: 'input_json_delta', partial_json: text }
    }),
    end: [
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' }
    ]
  },
  responses: {
    begin: [
      { type: 'response.created', response: { ...completed, status: 'in_progress' } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'i', type: 'message', role: 'assistant', content: [] }
      }
    ],
    text: delta => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta }),
    reasoning: delta => ({
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      summary_index: 0,
      delta
    }),
    call: index => [
      {
        type: 'response.output_item.added',
        output_index: index + 1,
        item: {
          id: `f${index}`,
          type: 'function_call',
          call_id: `call_${index}`,
          name: 'get',
          arguments: ''
        }
      }
    ],
    argumentsOf: (index, delta) => ({
      type: 'response.function_call_arguments.delta',
      output_index: index + 1,
      delta
    }),
    end: [{ type: 'response.completed', response: completed }]
  },
  fragments: {
    begin: [],
    text: text => fragment([{ text }]),
    reasoning: text => fragment([{ text, thought: true }]),
    call: index => [fragment([{ functionCall: { name: 'get', args: { index } } }])],
    argumentsOf: (index, text) =>
      fragment([{ functionCall: { name: 'get', args: { [`a${index}`]: text } } }]),
    end: [fragment([{ text: 'x' }], 'STOP')]
  }
} satisfies Record<string, Format>

/** Makes the events between the first and the last ones, by the dimension that grows. */
const dimensions: Readonly<Record<string, (format: Format, size: number) => object[]>> = {
  'texts': ({ text }, size) => list(size, () => text('word ')),
  'reasoning': ({ reasoning }, size) => list(size, () => reasoning('word ')),
  'one long text': ({ text }, size) => [text('ä "word" '.repeat(size * 8))],
  'calls': ({ call }, size) => list(size, call).flat(),
  'pieces of the arguments of one call': ({ call, argumentsOf }, size) => [
    ...call(0),
    ...list(size, () => argumentsOf(0, '{"a":'))
  ],
  'arguments of calls in turns': ({ call, argumentsOf }, size) => [
    ...list(64, call).flat(),
    ...list(size, index => argumentsOf(index % 64, '1'))
  ],
  'unknown fields': ({ text }, size) => list(size, index => ({ ...text('a'), [`x_${index}`]: index })),
  'nesting': ({ text }, size) => [{ ...text('a'), x: nested(size) }],
  'events of another kind': (_format, size) => list(size, index => ({ type: 'of_the_future', index }))
}

function bytesOf (format: Format, events: readonly object[]): Buffer {
  const all = [...format.begin, ...events, ...format.end]
  const frames = all.map(
    event => `${'type' in event ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`
  )
  return Buffer.from(frames.join('') + (format.done === undefined ? '' : `data: ${format.done}\n\n`))
}

type ChatAdapter = Adapter<ChatInput, ChatEvent>

/** Reads a stream that comes in chunks of a kilobyte. */
function read (adapter: ChatAdapter, ask: AdapterInput<ChatInput>, bytes: Buffer): ChatEvent[] {
  return readEvents(
    list(Math.ceil(bytes.length / 1024), index => bytes.subarray(index * 1024, index * 1024 + 1024)),
    streamOf(adapter, ask)
  )
}

const request: ChatInput = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }

function askOf (responsesOnly: boolean, direct?: DirectDialect): AdapterInput<ChatInput> {
  return {
    request,
    route: {
      providerId: 'one',
      model: 'm',
      modelId: 'one/m',
      ...responsesOnly && { traits: { responsesOnly } }
    },
    quirks: {},
    streamed: true,
    ...direct !== undefined && { direct: { dialect: direct, body: '{}', headers: {}, query: '' } }
  }
}

const transport = { send: async () => await Promise.reject(new Error('nothing may be sent')) }
/** A reader class, with the kinds of providers whose streams it reads. */
interface Reading {
  readonly kinds: string[]
  readonly adapter: ChatAdapter
  readonly responsesOnly: boolean
}

/** All kinds by the class that reads their streams: most share one. */
const readings = new Map<unknown, Reading>()
for (const kind of providerKinds) {
  const { chat: adapter } = createProvider(providerSettings(kind, kind), transport).adapters
  if (adapter === undefined) continue
  for (const responsesOnly of adapter.directDialects?.includes('responses') === true
    ? [false, true]
    : [false]) {
    const read = adapter.read({ status: 200, headers: {} }, askOf(responsesOnly))
    const reader = read.as === 'events' ? read.reader.constructor : undefined
    const reading = readings.get(reader) ?? { kinds: [], adapter, responsesOnly }
    readings.set(reader, reading)
    reading.kinds.push(kind)
  }
}

function formatOf ({ kinds, responsesOnly }: Reading): Format {
  if (responsesOnly) return formats.responses
  return kinds.includes('anthropic')
    ? formats.messages
    : kinds.includes('google')
      ? formats.fragments
      : formats.chunks
}

t.test('lines of a stream are read in linear time, however they end', async t => {
  for (const lines of ['x: y\r', ':\r', '\r', ':\n\r']) {
    const run = (bytes: Buffer): unknown => {
      try {
        return sseDecoder(Infinity).push(bytes)
      } catch {
        return undefined // lines that are not fields are limited
      }
    }
    scalesWith(t, JSON.stringify(lines), { from: 8192, input: size => Buffer.from(lines.repeat(size)), run })
  }
})

for (const reading of readings.values()) {
  const { kinds, adapter, responsesOnly } = reading
  t.test(
    `streams of ${kinds.join(', ')}${responsesOnly ? ' (Responses API)' : ''} are read in linear time`,
    async t => {
      const format = formatOf(reading)
      const run = (bytes: Buffer): ChatEvent[] => read(adapter, askOf(responsesOnly), bytes)
      t.ok(
        run(bytesOf(format, [format.text('words')])).some(
          event => event.type === 'text-delta' && event.text === 'words'
        ),
        'its format'
      )
      for (const [name, events] of Object.entries(dimensions)) {
        scalesWith(t, name, { doublings: 2, input: size => bytesOf(format, events(format, size)), run })
      }
    }
  )
}

function directScales<C> (
  dialect: DirectDialect,
  kind: string,
  { encode }: AnswerDialect<C>,
  startOf: () => AnswerStart<C>
): void {
  t.test(`streams of ${dialect} are passed on in linear time`, async t => {
    const { adapter } = [...readings.values()].find(({ kinds }) => kinds.includes(kind)) ?? {}
    if (adapter === undefined) return t.fail('no adapter')
    const format = formats[dialect]
    const run = (bytes: Buffer): string => {
      const printer = encode(startOf())
      return (
        read(adapter, askOf(false, dialect), bytes)
          .map(event => printer.print([event]))
          .join('') + printer.end()
      )
    }
    t.ok(run(bytesOf(format, [format.text('words')])).includes('words'), 'its format')
    for (const [name, events] of Object.entries(dimensions)) {
      scalesWith(t, name, { doublings: 2, input: size => bytesOf(format, events(format, size)), run })
    }
  })
}

const call = routedCall<ChatInput>(request)
const [route] = call.routes
const head = { type: 'answer-start', id: '1', model: 'one/m', createdSeconds: 1 } as const

directScales('messages', 'anthropic', messages, () => ({
  head,
  call,
  route,
  context: {
    request: { model: 'one/m', messages: [] },
    keyId: 'key',
    hidesThinking: false,
    toolNames: new Map(),
    untranslatable: undefined,
    direct: { routes: new Set([route]) }
  }
}))
directScales('responses', 'openai', responsesDialect(), () => {
  const start = responsesStart()
  start.context.direct.accounts.set(start.route, () => 'account')
  return start
})

t.test('text completions are written in linear time', async t => {
  const start: AnswerStart = { head, call, route, context: undefined }
  for (const name of ['texts', 'log probabilities', 'choices'] as const) {
    const input = (size: number): ChatEvent[] => [head, ...(answers[name]?.(size) ?? [])]
    scalesWith(t, `${name}, streamed`, {
      doublings: 2,
      input,
      run: events => {
        const printer = textCompletions.encode(start)
        return events.map(event => printer.print([event])).join('') + printer.end()
      }
    })
    scalesWith(t, `${name}, complete`, {
      doublings: 2,
      input,
      run: events => textCompletions.complete(start, [{ call, route, events }])
    })
  }
})
