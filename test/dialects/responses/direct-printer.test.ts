import t from 'tap'
import { encodeResponse } from '../../../lib/dialects/responses/encode.ts'
import { startedResponse } from '../../../lib/dialects/responses/response-object.ts'
import { GatewayError } from '../../../lib/core/errors.ts'
import { endOfStream, type FramePrinter } from '../../../lib/wire/sse-frames.ts'
import {
  lastFrames,
  printedText,
  responsesStart,
  streamEvents,
  type StreamEvent
} from '../../support/responses.ts'
import type { ResponsesContext } from '../../../lib/dialects/responses/input.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'

const response = { ...startedResponse(responsesStart()), id: 'resp_up', model: 'gpt-5', x_new: 1 }
const message = {
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }]
}

function frame (type: string, number: number | undefined, fields: object): ChatEvent {
  return {
    type: 'direct-frame',
    name: type,
    json: JSON.stringify({ type, ...number !== undefined && { sequence_number: number }, ...fields })
  }
}

const begin = [frame('response.created', 0, { response }), frame('response.in_progress', 1, { response })]
const middle = [
  frame('response.output_item.added', 2, { output_index: 0, item: { ...message, content: [] } }),
  frame('response.new_kind.delta', 3, { delta: 'Hi', thing: [1.5] }),
  frame('response.output_item.done', 4, { output_index: 0, item: message })
]
const completed = frame('response.completed', 5, {
  response: { ...response, status: 'completed', output: [message], store: true }
})

function printer (context: Partial<ResponsesContext> = {}): FramePrinter<ChatEvent> {
  const start = responsesStart({ stream: true })
  start.context.direct.accounts.set(start.route, () => 'a1')
  return encodeResponse({ ...start, context: { ...start.context, ...context } })
}

const numbers = (events: readonly StreamEvent[]): number[] => events.map(event => event.sequence_number)

t.test('events are passed through, except for the model name', async t => {
  const direct = printer()
  const text = printedText(direct, [...begin, ...middle, completed]) + direct.end()
  const events = [...begin, ...middle, completed].map(event =>
    event.type === 'direct-frame' ? `event: ${event.name}\ndata: ${event.json}\n\n` : ''
  )
  t.equal(text, events.join('').replaceAll('"model":"gpt-5"', '"model":"openai/gpt-5"') + endOfStream)
  t.equal(direct.last?.(), undefined, 'nothing is stored before the end is sent')
})

t.test('a sequence number at the end of an event is kept or corrected', async t => {
  const numbered = (number: number): ChatEvent => ({
    type: 'direct-frame',
    name: 'response.new_kind.delta',
    json: `{"type":"response.new_kind.delta","delta":"Hi","sequence_number":${number}}`
  })
  const events = streamEvents(printedText(printer(), [...begin, numbered(2), numbered(13), numbered(14)]))
  t.same(numbers(events), [0, 1, 2, 3, 4])
})

t.test('an interrupted stream ends with the finished items', async t => {
  const direct = printer()
  const text =
    printedText(direct, [...begin, ...middle]) +
    direct.fail?.(new GatewayError('upstream_stream_interrupted'), responsesStart().call)
  const events = streamEvents(text)
  t.match(events.at(-1), {
    type: 'response.failed',
    sequence_number: 5,
    response: {
      id: 'resp_up',
      status: 'failed',
      error: { code: 'server_error' },
      output: [message],
      x_new: 1,
      model: 'openai/gpt-5'
    }
  })
  t.ok(text.endsWith(endOfStream))
})

t.test(
  'wrong sequence numbers are corrected, and an end without output gets the streamed items',
  async t => {
    const direct = printer()
    const odd = [
      frame('response.created', undefined, { response }),
      frame('response.output_item.done', 17, { item: message }),
      frame('response.completed', 17, { response: { ...response, status: 'completed', output: [] } })
    ]
    const events = streamEvents(printedText(direct, odd) + direct.end())
    t.same(numbers(events), [0, 1, 2])
    t.match(events.at(-1), { response: { output: [message] } })
  }
)

t.test('response fields that clients expect are added if a server leaves them out', async t => {
  const direct = printer()
  const [begun] = streamEvents(
    printedText(direct, [
      frame('response.created', 0, { response: { id: 'resp_up', status: 'in_progress' } })
    ])
  )
  t.match(begun, {
    response: { id: 'resp_up', status: 'in_progress', completed_at: null, usage: null, tools: [], top_p: 1 }
  })
  const usage = {
    input_tokens: 3,
    output_tokens: 2,
    total_tokens: 5,
    output_tokens_details: { reasoning_tokens: 1 }
  }
  const end =
    printedText(direct, [frame('response.completed', 1, { response: { ...response, usage } })]) +
    direct.end()
  t.match(streamEvents(end).at(-1), {
    response: { usage: { ...usage, input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 } } }
  })
})

t.test('a response is stored with its origin before its end is sent', async t => {
  const stored: unknown[] = []
  const direct = printer({ keep: async (kept, origin) => {
    stored.push([kept.id, kept.model, kept.status, origin])
    return { ...kept, store: false }
  } })
  const text = printedText(direct, [...begin, ...middle, completed]) + direct.end()
  t.notMatch(text, 'response.completed')
  t.match(streamEvents((await lastFrames(direct)).join('')).at(-1), {
    type: 'response.completed',
    sequence_number: 5,
    response: { store: false, model: 'openai/gpt-5' }
  })
  t.same(stored, [
    ['resp_up', 'openai/gpt-5', 'completed', { providerId: 'openai', account: 'a1', responseId: 'resp_up' }]
  ])
})

t.test('a long silence is broken by a numbered keepalive event', async t => {
  const direct = printer()
  const events = streamEvents(printedText(direct, begin))
  const pings = [1, 2, 3, 4].map(() => direct.keepAlive?.() ?? '')
  t.strictSame(pings.slice(0, 3), Array(3).fill(': ping\n'))
  t.strictSame(streamEvents(pings[3] ?? ''), [{ type: 'keepalive', sequence_number: events.length }])
  const rest = streamEvents(printedText(direct, [...middle, completed]) + direct.end())
  t.same(numbers(rest), rest.map((_, index) => events.length + 1 + index), 'numbering continues')
  const early = printer()
  t.strictSame([1, 2, 3, 4].map(() => early.keepAlive?.()), Array(4).fill(': ping\n'), 'never as the first')
})

t.test(
  'a background response keeps the id with which it was queued, and its numbering continues',
  async t => {
    const queued = { id: 'resp_ours', created_at: 7 } as ResponseObject // nothing else is read
    const direct = printer({ queued })
    const events = streamEvents(printedText(direct, [...begin, ...middle, completed]) + direct.end())
    t.same(
      events.map(({ type }) => type),
      [
        'response.in_progress',
        'response.output_item.added',
        'response.new_kind.delta',
        'response.output_item.done',
        'response.completed'
      ]
    )
    t.same(numbers(events), [2, 3, 4, 5, 6])
    t.match(events.at(-1), { response: { id: 'resp_ours', background: true, created_at: 7 } })
  }
)

t.test('an answer in another format is translated, also if it fails before its first event', async t => {
  const translated = printer()
  const events = streamEvents(
    printedText(translated, [{ type: 'answer-start' }]) +
      printedText(translated, [{ type: 'text-delta', choice: 0, text: 'Hi' }]) +
      translated.end()
  )
  t.match(events.at(-1), {
    type: 'response.completed',
    response: { output: [{ content: [{ text: 'Hi' }] }] }
  })
  const failed = printer()
  t.match(
    streamEvents(failed.fail?.(new GatewayError('upstream_error'), responsesStart().call) ?? '').at(-1),
    { type: 'response.failed', response: { status: 'failed' } }
  )
  t.equal(printer().keepAlive?.(), ': ping\n')
})
