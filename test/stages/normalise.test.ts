import t from 'tap'
import { normalise } from '../../lib/stages/normalise.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const call = routedCall<ChatInput>({ model: 'one/m', messages: [] })
const text = (text: string, choice = 0): ChatEvent => ({ type: 'text-delta', choice, text })
const end = (choice = 0, reason: 'stop' | 'length' = 'stop'): ChatEvent => ({
  type: 'choice-end',
  choice,
  reason
})
const usage: ChatEvent = { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }

async function eventsOf (...lists: ChatEvent[][]): Promise<ReadonlyArray<readonly ChatEvent[]>> {
  return (await collect(normalise()(batchesOf(call, lists)))).map(({ events }) => events)
}

t.test("the start event is ours: one, first, with the gateway's name of the model", async t => {
  const nowSeconds = Math.floor(Date.now() / 1000)
  const [first, ...others] = (
    await eventsOf(
      [
        {
          type: 'answer-start',
          id: 'theirs',
          model: 'm-0613',
          createdSeconds: 1,
          fingerprint: 'fp',
          serviceTier: 'default'
        },
        text('a')
      ],
      [{ type: 'answer-start' }, text('b')]
    )
  ).flat()
  t.match(first, {
    type: 'answer-start',
    id: /^chatcmpl-/,
    model: 'one/m',
    fingerprint: 'fp',
    serviceTier: 'default'
  })
  t.ok(first?.type === 'answer-start' && (first.createdSeconds ?? 0) >= nowSeconds)
  t.same(others, [text('a'), text('b')])
})

t.test('the start states the length of the prompt if requested', async t => {
  const [batch] = await collect(
    normalise({ estimate: ({ messages }) => ({ prompt: { typical: 7 + messages.length } }) })(
      batchesOf(call, [[text('a')]])
    )
  )
  t.match(batch?.events[0], { type: 'answer-start', promptTokens: 7 })
})

t.test('an answer without a start gets one', async t => {
  t.match((await eventsOf([text('a')])).flat(), [{ type: 'answer-start', model: 'one/m' }, text('a')])
})

t.test('choices end once, usage comes once, both last', async t => {
  const lists = await eventsOf([text('a'), end(0, 'length')], [usage, end(), end(1)], [usage, text('b', 1)])
  t.match(lists, [[{ type: 'answer-start' }, text('a')], [text('b', 1)], [end(0, 'length'), end(1), usage]])
  t.equal(lists.flat().length, 6)
})

t.test('a batch of only text passes unchanged', async t => {
  const batches = await collect(normalise()(batchesOf(call, [[text('a')], [text('b'), text('c')]])))
  t.same(batches[1]?.events, [text('b'), text('c')])
  t.same(batches.length, 3)
})

t.test('everything read before an error is sent before it, without the end', async t => {
  const seen: ChatEvent[] = []
  await t.rejects(
    async () => {
      for await (const { events } of normalise()(
        batchesOf(call, [[text('a')], [text('b'), end()]], new Error('cut'))
      )) {
        seen.push(...events)
      }
    },
    { message: 'cut' }
  )
  t.match(seen, [{ type: 'answer-start' }, text('a'), text('b')])
})

t.test('an answer without batches has no end either', async t => {
  t.same(await eventsOf(), [])
})

t.test('the traits of a start that follows an empty batch are passed on, once', async t => {
  const late = { type: 'answer-start', id: 'theirs', fingerprint: 'fp', serviceTier: 'flex' } as const
  const [first, ...others] = (await eventsOf([], [late, text('a')], [late, text('b')])).flat()
  t.match(first, { type: 'answer-start', id: /^chatcmpl-/, model: 'one/m' })
  t.strictSame(others, [
    { type: 'answer-start', fingerprint: 'fp', serviceTier: 'flex' },
    text('a'),
    text('b')
  ])
})
