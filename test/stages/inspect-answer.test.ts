import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { inspectAnswer } from '../../lib/stages/inspect-answer.ts'
import { batchesOf, routedCall } from '../support/stages.ts'
import { countTurns } from '../support/turns.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import { replacement, word, wordStages } from '../support/word-stages.ts'
import type { Batch, RoutedCall } from '../../lib/core/call.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { TextGuards } from '../../lib/guards/text-guards.ts'

const text = (said: string): ChatEvent => ({ type: 'text-delta', choice: 0, text: said })
const start: ChatEvent = { type: 'answer-start' }
const signed: ChatEvent = {
  type: 'thinking-block',
  choice: 0,
  block: { type: 'thinking', thinking: word, signature: 's' }
}

interface Outcome {
  readonly batches: ReadonlyArray<readonly ChatEvent[]>
  readonly error?: unknown
}

async function answered (
  lists: ReadonlyArray<readonly ChatEvent[]>,
  failure?: unknown,
  stages: TextGuards = wordStages(),
  takeMemory?: (bytes: number) => void
): Promise<Outcome> {
  const call = routedCall({}, { ...takeMemory !== undefined && { takeMemory } })
  const stage = inspectAnswer<object>(stages, undefined, () => batchesOf(call, lists, failure))
  const batches: Array<readonly ChatEvent[]> = []
  try {
    for await (const { events } of stage(once(call))) batches.push(events)
  } catch (error) {
    return { batches, error }
  }
  return { batches }
}

t.test('the first batch has visible output, and the last one all held text', async t => {
  const { batches } = await answered([[start], [text('Zan')], [text('zibar is far')], [text(' Zan')]])
  t.equal(batches[0]?.[0], start)
  t.ok(batches.every(events => events.some(({ type }) => type !== 'answer-start')))
  t.equal(
    batches
      .flat()
      .map(event => ('text' in event ? event.text : ''))
      .join(''),
    `${replacement} is far Zan`
  )
})

t.test('batches are unchanged if no guard inspects the call', async t => {
  const lists = [[start], [text(word)]]
  const nothing = { layers: [{ kind: 'filters' as const, filter: () => undefined }] }
  t.same((await answered(lists, undefined, nothing)).batches, lists)
})

t.test(
  'everything read before an error is sent before it, and the text of the error is redacted',
  async t => {
    const failure = new GatewayError('upstream_error', {
      message: `not ${word}`,
      original: { dialect: 'messages', status: 400, body: `{"error":{"message":"no ${word}"}}` },
      cause: { status: 400, words: `no ${word}` }
    })
    const { batches, error } = await answered([[start, text('in Zan')]], failure)
    t.same(batches, [[start, text('in Zan')]])
    t.match(error, {
      code: 'upstream_error',
      message: `not ${replacement}`,
      original: { body: `{"error":{"message":"no ${replacement}"}}` },
      cause: { status: 400, words: `no ${replacement}` }
    })
    t.match(
      await answered([[start]], failure),
      { batches: [], error: { message: `not ${replacement}` } },
      'with nothing to see it is a status'
    )
    const plain = new Error(word)
    t.equal((await answered([], plain)).error, plain)
    t.match(
      (
        await answered(
          [],
          new GatewayError('upstream_error', {
            original: { dialect: 'messages', status: 500, body: `<p>${word}` }
          })
        )
      ).error,
      { original: { body: `<p>${replacement}` } }
    )
  }
)

t.test('a finding that refuses ends the answer after the text already decided', async t => {
  const refused = await answered([
    [start, text('0123456789'), text('0123456789')],
    [text('0123456789'), signed, text('more')]
  ])
  t.equal(
    refused.batches
      .flat()
      .map(event => ('text' in event ? event.text : ''))
      .join(''),
    '01234567890123456789'
  )
  t.match(refused.error, { code: 'content_policy_violation' })
  t.match(
    await answered([[start, signed]]),
    { batches: [], error: { code: 'content_policy_violation' } },
    'before all else it is a status'
  )
})

t.test('arguments in many pieces are sent over several ticks of the event loop', async t => {
  const pieces = ['{"a":"', ...Array.from({ length: 5000 }, () => 'x'), '"}'].map((text): ChatEvent => ({
    type: 'tool-call-delta', choice: 0, callIndex: 0, text, kind: 'function'
  }))
  const end: ChatEvent = { type: 'tool-call-end', choice: 0, callIndex: 0 }
  const call = routedCall({})
  const stage = inspectAnswer<object>(
    wordStages(), undefined, () => batchesOf(call, [[start], pieces, [end]])
  )
  const turns = countTurns(t)
  const released: ChatEvent[] = []
  const turnsBefore: number[] = []
  for await (const { events } of stage(once(call))) {
    t.ok(events.length <= 1024, `${events.length} events`)
    turnsBefore.push(turns())
    released.push(...events)
  }
  t.same(released, [start, ...pieces, end])
  t.equal(new Set(turnsBefore).size, 5, 'another turn before each part')
})

t.test('an answer is closed when its caller closes it', async t => {
  let isLeft = false
  const call = routedCall({})
  async function * endless (): AsyncGenerator<Batch<object, ChatEvent>> {
    try {
      for (;;) yield { call, route: call.routes[0], events: [text('0123456789')] }
    } finally {
      isLeft = true
    }
  }
  for await (const { events } of inspectAnswer<object>(wordStages(), undefined, endless)(once(call))) {
    if (events.length > 0) break
  }
  t.ok(isLeft)
})

t.test('long arguments count as memory of the call while they are held', async t => {
  let taken = 0
  const piece = (said: string): ChatEvent => ({
    type: 'tool-call-delta',
    choice: 0,
    callIndex: 0,
    kind: 'function',
    text: said
  })
  await answered(
    [[piece('"')], [piece('x'.repeat(100_000))], [piece('y'.repeat(100_000))], [piece('"')]],
    undefined,
    wordStages(),
    bytes => {
      taken += bytes
    }
  )
  t.ok(taken >= 400_000 && taken < 410_000, String(taken))
})

t.test('a guard that only reports passes batches on at once, and refuses none for its size', async t => {
  let inspected = 0
  const stages: TextGuards = {
    layers: [{
      kind: 'judge',
      forCall: () => ({
        alters: false,
        window: undefined,
        pointOf: () => 'answer',
        inspect: async texts => {
          inspected += texts.reduce((sum, { text }) => sum + text.length, 0)
          return texts.map(({ text }) => text)
        },
        refusal: () => new GatewayError('content_refused')
      })
    }]
  }
  const long = text('x'.repeat(1024 * 1024))
  const lists = [[start], ...Array.from({ length: 40 }, () => [long])]
  t.same((await answered(lists, undefined, stages)).batches.map(events => events.length), lists.map(() => 1))
  t.ok(inspected > 1024 * 1024 && inspected < 20 * 1024 * 1024, `${inspected} characters`)
})

t.test('a refused answer does not wait for its provider, whose request is aborted', async t => {
  const stalled = withResolvers<void>()
  const call = routedCall({})
  let reason: unknown
  async function* silent (
    source: AsyncIterable<RoutedCall<object>>
  ): AsyncGenerator<Batch<object, ChatEvent>> {
    for await (const given of source) {
      yield { call: given, route: given.routes[0], events: [text('x'.repeat(5_000))] }
      given.signal.addEventListener('abort', () => {
        reason = given.signal.reason
        stalled.resolve()
      })
      await stalled.promise
    }
  }
  const refusal = new GatewayError('content_refused')
  const stages: TextGuards = {
    layers: [{
      kind: 'judge',
      forCall: () => ({
        alters: true,
        window: { characters: 800, overlap: 200, maxWaitMs: 1000 },
        pointOf: () => 'answer',
        inspect: async () => { throw refusal },
        refusal: () => refusal
      })
    }]
  }
  const answer = inspectAnswer<object>(stages, undefined, silent)(once(call))[Symbol.asyncIterator]()
  await t.rejects(answer.next(), { code: 'content_refused' })
  t.equal(reason, refusal)
  t.notOk(call.signal.aborted, 'the call itself goes on, with the words of the refusal')
})
