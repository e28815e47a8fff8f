import t from 'tap'
import { AnswerBatches } from '../../lib/attempts/answer-batches.ts'
import { reportedBy } from '../../lib/core/usage.ts'
import { collect, route, routedCall } from '../support/stages.ts'

/**
 * An answer with these reads, followed by the failure if there is one.
 *
 * @param isKnown true: the answer knows that its last read is the last
 */
function start (reads: ReadonlyArray<readonly string[]>, failure?: Error, isKnown = false) {
  let opened = 0
  let closed = 0
  const left = [...reads]
  const batches = new AnswerBatches(routedCall({}), {
    open: async () => {
      opened++
      return await Promise.resolve({
        route,
        next: async () => {
          const read = left.shift()
          if (read === undefined && failure !== undefined) throw failure
          return await Promise.resolve(read === undefined ? undefined : [...read])
        },
        isFinished: () => isKnown && left.length === 0,
        sizeBytes: () => 0,
        reported: () => reportedBy(undefined),
        close: () => { closed++ }
      })
    },
    fail: (error, route) => new Error(`${route.modelId} broke off`, { cause: error })
  })
  return { batches, counts: () => [opened, closed] }
}

t.test('an answer is opened at the first read and closed after the last', async t => {
  const { batches, counts } = start([['a'], ['b', 'c']])
  t.same(counts(), [0, 0])
  t.same(
    (await collect(batches)).map(({ route, events }) => [route.modelId, events]),
    [
      ['one/m', ['a']],
      ['one/m', ['b', 'c']]
    ]
  )
  t.same(counts(), [1, 1])
  t.same(await batches.next(), { done: true, value: undefined })
})

t.test('an answer that knows its last read is closed before that read is returned', async t => {
  const { batches, counts } = start([['a'], ['b']], undefined, true)
  t.same((await batches.next()).value?.events, ['a'])
  t.same(counts(), [1, 0])
  t.same((await batches.next()).value?.events, ['b'])
  t.same(counts(), [1, 1])
  t.same(await batches.next(), { done: true, value: undefined })
  t.same(counts(), [1, 1], 'once')
})

t.test('the first read may be empty and still gives a batch; later empty reads are skipped', async t => {
  t.same((await collect(start([[], [], ['a'], []]).batches)).map(({ events }) => events), [[], ['a']])
})

t.test('an interruption is reported with its route, and closes the answer', async t => {
  const { batches, counts } = start([['a']], new Error('cut'))
  t.same((await batches.next()).value?.events, ['a'])
  await t.rejects(batches.next(), { message: 'one/m broke off', cause: { message: 'cut' } })
  t.same(counts(), [1, 1])
  t.same(await batches.next(), { done: true, value: undefined })
})

t.test('stopping early closes the answer; one that was never read is not opened', async t => {
  const { batches, counts } = start([['a'], ['b']])
  for await (const _ of batches) break
  t.same(counts(), [1, 1])
  await batches.return()
  t.same(counts(), [1, 1], 'once')
  const unread = start([['a']])
  await unread.batches.return()
  t.same([await unread.batches.next(), unread.counts()], [{ done: true, value: undefined }, [0, 0]])
})
