import fc from 'fast-check'
import t from 'tap'
import { toResponse } from '../../../lib/dialects/responses/complete.ts'
import { encodeResponse } from '../../../lib/dialects/responses/encode.ts'
import { GatewayError } from '../../../lib/core/errors.ts'
import { holds } from '../../support/property.ts'
import {
  batchesOf,
  fullText,
  lastFrames,
  printedText,
  responsesStart,
  streamEvents,
  type StreamEvent
} from '../../support/responses.ts'
import { anyAnswer, usage } from './any-answer.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

function streamed (events: readonly ChatEvent[], perBatch = 1): string {
  const printer = encodeResponse(responsesStart({ stream: true }))
  let out = ''
  for (let at = 0; at < events.length; at += perBatch) {
    out += printedText(printer, events.slice(at, at + perBatch))
  }
  return out + printer.end()
}

/** Replaces each id by the number of its first appearance. */
function plainIds (value: unknown): unknown {
  const seen = new Map<string, string>()
  const json = JSON.stringify(value).replaceAll(
    /\b(?:resp|msg|rs|fc|ctc|mcp|mcpl|mcpr)_[0-9a-f]{32}\b/g,
    id => {
      seen.set(id, seen.get(id) ?? `id-${seen.size}`)
      return seen.get(id) ?? ''
    }
  )
  return JSON.parse(json)
}

t.test('events have the order that clients rely on, whatever the provider sends', async t => {
  holds(
    t,
    fc.property(anyAnswer, fc.integer({ min: 1, max: 4 }), (events, perBatch) => {
      const out = streamed(events, perBatch)
      if (!out.endsWith('\n\ndata: [DONE]\n\n')) throw new Error('no end')
      const list = streamEvents(out)
      list.forEach((event, index) => equal(event.sequence_number, index, 'sequence_number'))
      equal(list[0]?.type, 'response.created', 'first')
      equal(list[1]?.type, 'response.in_progress', 'second')
      const last = list.at(-1)
      if (!/^response\.(?:completed|incomplete)$/.test(String(last?.type))) {
        throw new Error(`ends with ${last?.type}`)
      }
      same(checkItems(list.slice(2, -1)), outputOf(last), 'output of the last event')
    }),
    { numRuns: 300 }
  )
})

/** Follows each item from `added` to `done`, and returns the finished items. */
function checkItems (list: readonly StreamEvent[]): unknown[] {
  const done: unknown[] = []
  let open: { id: unknown, index: unknown, deltas: Record<string, string> } | undefined
  for (const event of list) {
    const item = event['item'] as Record<string, unknown> | undefined
    switch (event.type) {
      case 'response.output_item.added':
        equal(open, undefined, 'one item at a time')
        equal(event['output_index'], done.length, 'output_index')
        open = { id: item?.['id'], index: event['output_index'], deltas: {} }
        break
      case 'response.output_item.done':
        equal(item?.['id'], open?.id, 'id of done')
        done.push(item)
        open = undefined
        break
      default: {
        equal(event['item_id'], open?.id, 'item_id')
        equal(event['output_index'], open?.index, 'output_index')
        const place = `${event.type.replace(/\.(?:delta|done)$/, '')}/${JSON.stringify(event['content_index'] ?? event['summary_index'])}`
        if (open === undefined) throw new Error('no open item')
        if (event.type.endsWith('.delta'))
          open.deltas[place] = (open.deltas[place] ?? '') + textOf(event['delta'])
        else if (
          event.type.endsWith('.done') &&
          'sequence_number' in event &&
          !event.type.includes('part')
        ) {
          const complete = event['text'] ?? event['refusal'] ?? event['arguments'] ?? event['input']
          equal(open.deltas[place] ?? '', complete, `deltas of ${place}`)
        }
      }
    }
  }
  equal(open, undefined, 'nothing left open')
  return done
}

t.test('a complete answer equals the end of its stream', async t => {
  holds(
    t,
    fc.property(anyAnswer, events => {
      const last = streamEvents(streamed(events)).at(-1)
      const start = responsesStart()
      const complete = toResponse(start, batchesOf(start, events))
      const { response } = last as unknown as { response: Record<string, unknown> }
      same(
        plainIds({ ...complete, completed_at: null }),
        plainIds({ ...response, completed_at: null }),
        'response'
      )
    }),
    { numRuns: 200 }
  )
})

t.test('a short stream, compared byte by byte except for ids and times', async t => {
  const out = streamed([
    { type: 'text-delta', choice: 0, text: 'Hé' }, { type: 'text-delta', choice: 0, text: 'llo' },
    { type: 'choice-end', choice: 0, reason: 'stop' }, usage
  ])
  const types = streamEvents(out).map(event => event.type)
  t.strictSame(types, [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed'
  ])
  t.match(plainIds(streamEvents(out)), [
    { response: { id: 'id-0', status: 'in_progress', output: [], usage: null } },
    {},
    {
      output_index: 0,
      item: { id: 'id-1', type: 'message', status: 'in_progress', role: 'assistant', content: [] }
    },
    {
      content_index: 0,
      item_id: 'id-1',
      part: { type: 'output_text', text: '', annotations: [], logprobs: [] }
    },
    { content_index: 0, item_id: 'id-1', delta: 'Hé', logprobs: [] },
    { delta: 'llo' },
    { text: 'Héllo', logprobs: [] },
    { part: { type: 'output_text', text: 'Héllo' } },
    { item: { id: 'id-1', status: 'completed', content: [{ text: 'Héllo' }] } },
    {
      response: {
        status: 'completed',
        usage: {
          input_tokens: 3,
          input_tokens_details: { cached_tokens: 1, cache_write_tokens: 0 },
          output_tokens: 2,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 5
        }
      }
    }
  ])
})

t.test(
  'an interrupted answer ends with response.failed, the finished items and a code that agents understand',
  async t => {
    const rows = [
      [new GatewayError('upstream_stream_interrupted'), 'server_error'],
      [new GatewayError('upstream_invalid_request'), 'invalid_prompt'],
      [new GatewayError('context_length_exceeded'), 'context_length_exceeded'],
      [new GatewayError('insufficient_quota'), 'insufficient_quota'],
      [new GatewayError('upstream_overloaded'), 'server_is_overloaded'],
      [new GatewayError('rate_limit_exceeded'), 'rate_limit_exceeded']
    ] as const
    for (const [failure, code] of rows) {
      const start = responsesStart()
      const printer = encodeResponse(start)
      const out =
        printedText(printer, [
          { type: 'tool-call-start', choice: 0, callIndex: 0, id: 'call_1', name: 'a', kind: 'function' },
          { type: 'tool-call-end', choice: 0, callIndex: 0 },
          { type: 'text-delta', choice: 0, text: 'unfinished' }
        ]) + printer.fail?.(failure, start.call)
      const last = streamEvents(out).at(-1)
      t.match(last, {
        type: 'response.failed',
        response: { status: 'failed', error: { code, message: failure.message } }
      })
      t.match(outputOf(last), [{ type: 'function_call', call_id: 'call_1', arguments: '{}' }])
      t.equal((outputOf(last) as unknown[]).length, 1, 'the message is unfinished')
    }
  }
)

t.test('a long silence is broken by a numbered keepalive event', async t => {
  const printer = encodeResponse(responsesStart())
  printer.print([])
  t.strictSame([1, 2, 3].map(() => printer.keepAlive?.()), Array(3).fill(': ping\n'))
  t.strictSame(streamEvents(printer.keepAlive?.() ?? ''), [{ type: 'keepalive', sequence_number: 2 }])
  t.equal(streamEvents(printer.end())[0]?.sequence_number, 3, 'numbering continues')
})

function outputOf (event: StreamEvent | undefined): unknown {
  return (event?.['response'] as Record<string, unknown> | undefined)?.['output']
}

function textOf (value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function equal (found: unknown, wanted: unknown, what: string): void {
  if (!Object.is(found, wanted)) {
    throw new Error(`${what}: ${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`)
  }
}

function same (found: unknown, wanted: unknown, what: string): void {
  equal(JSON.stringify(found), JSON.stringify(wanted), what)
}

const toolCall: readonly ChatEvent[] = [
  { type: 'tool-call-start', choice: 0, callIndex: 0, id: 'call_1', name: 'get', kind: 'function' },
  { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{"a":', kind: 'function' },
  { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '1}', kind: 'function' },
  { type: 'tool-call-end', choice: 0, callIndex: 0 }
]

/** Returns the text of a token with the log probabilities of 21 candidates. */
function likelyToken (text: string): ChatEvent {
  const probability = { token: text, logprob: -0.5, bytes: [120] }
  const token = { ...probability, top_logprobs: Array.from({ length: 20 }, () => probability) }
  return { type: 'text-delta', choice: 0, text, logprobs: { content: [token], refusal: null } }
}

t.test('what follows a large item is sent before the next events are read', async t => {
  const start = responsesStart({ stream: true, include: ['message.output_text.logprobs'] })
  const printer = encodeResponse(start)
  const likely = Array.from({ length: 300 }, () => likelyToken('x'))
  const sent = await fullText(printer, likely)
  const types: string[][] = []
  for (const event of toolCall) {
    const text = await fullText(printer, [event])
    types.push(streamEvents(text).map(({ type }) => type.replace('response.', '')))
    for (let pings = 0; pings < 8; pings++) t.not(printer.keepAlive?.(), '', 'a sign of life')
  }
  t.match(streamEvents(sent).at(-1), { type: 'response.output_text.delta' })
  t.strictSame(types, [
    ['output_text.done', 'content_part.done', 'output_item.done', 'output_item.added'],
    ['function_call_arguments.delta'],
    ['function_call_arguments.delta'],
    ['function_call_arguments.done', 'output_item.done']
  ])
})

t.test('no numbered keepalive overtakes a large event', async t => {
  const printer = encodeResponse(responsesStart({ stream: true }))
  printer.print([{ type: 'text-delta', choice: 0, text: 'x'.repeat(300_000) }, ...toolCall])
  const printing = printer.printLarge?.()
  const pings = Array.from({ length: 8 }, () => printer.keepAlive?.())
  t.strictSame([...new Set(pings)], [': ping\n'])
  t.equal(streamEvents(String(await printing)).at(-1)?.type, 'response.output_item.done')
})

t.test('a large answer has the same events as a small one', async t => {
  const answer = (length: number): ChatEvent[] => [
    { type: 'text-delta', choice: 0, text: 'x'.repeat(length) },
    ...toolCall,
    { type: 'text-delta', choice: 0, text: 'bye' },
    { type: 'choice-end', choice: 0, reason: 'stop' }
  ]
  const print = async (length: number): Promise<{ now: string, later: string[] }> => {
    const printer = encodeResponse(responsesStart({ stream: true }))
    let now = ''
    for (const event of answer(length)) now += await fullText(printer, [event])
    return { now: now + printer.end(), later: await lastFrames(printer) }
  }
  const [small, large] = [await print(10), await print(300_000)]
  t.same(small.later, [])
  const all = [...streamEvents(large.now), ...streamEvents(large.later.join(''))]
  t.strictSame(all.map(({ type }) => type), streamEvents(small.now).map(({ type }) => type))
  all.forEach((event, index) => equal(event.sequence_number, index, 'sequence_number'))
  t.ok(large.later.at(-1)?.endsWith('data: [DONE]\n\n'))
})

t.test('an endless answer is aborted, as its text is kept for the final event', async t => {
  const printer = encodeResponse(responsesStart({ stream: true }))
  const text = 'x'.repeat(8_000_000)
  const event: ChatEvent = { type: 'text-delta', choice: 0, text }
  for (let count = 0; count < 8; count++) printer.print([event])
  t.throws(() => printer.print([event]), { code: 'upstream_invalid_response' })
})
