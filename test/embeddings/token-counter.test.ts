import t from 'tap'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import {
  createTokenCounter,
  type CountJob,
  type TokenCounter,
  type TokenCounterOptions
} from '../../lib/embeddings/token-counter.ts'
import type { Test } from 'tap'

const signal = new CallCancellation()
const job = (text: string, perInput = 3, perRequest = 100): CountJob => ({
  texts: [{ index: 4, text }],
  limits: { perInput, perRequest }
})
/** Slow to count, as each word is counted by itself. */
const slow = job('words and words '.repeat(400_000), Infinity, Infinity)

function counter (t: Test, options?: TokenCounterOptions): TokenCounter {
  const made = createTokenCounter(options)
  t.teardown(made.close)
  return made
}

t.test('texts are counted in a worker thread, and the first that is too long is named', async t => {
  const { excess } = counter(t)
  t.same(
    await Promise.all(
      [job('a b'), job('a b c d e f'), job('a b c', 9, 2)].map(
        async each => await excess(each, 'key-1', signal)
      )
    ),
    [undefined, { part: 'input', index: 4 }, { part: 'request' }]
  )
})

t.test('an aborted call stops waiting, and those behind it are served', async t => {
  const { excess } = counter(t)
  const leaving = new CallCancellation()
  const first = excess(slow, 'key-1', leaving)
  const second = excess(slow, 'key-1', leaving)
  const third = excess(job('a b c d e f'), 'key-1', signal)
  leaving.abort(new Error('left'))
  await t.rejects(first, { message: 'left' })
  await t.rejects(second, { message: 'left' })
  t.same(await third, { part: 'input', index: 4 })
  await t.rejects(excess(job('a'), 'key-1', leaving), { message: 'left' })
})

t.test('a job that takes too long or finds the queue full is not refused', async t => {
  const { excess } = counter(t, { jobMs: 1, queueLength: 1 })
  t.same(await Promise.all([slow, slow, slow].map(async each => await excess(each, 'key-1', signal))), [
    undefined,
    undefined,
    undefined
  ])
})

t.test('a key with many counts does not block others', async t => {
  const { excess, close } = counter(t)
  let counted = 0
  const many = Array.from({ length: 10 }, async () => {
    await excess(slow, 'key-1', signal)
    counted++
  })
  t.same(await excess(job('a b c d e f'), 'key-2', signal), { part: 'input', index: 4 })
  t.ok(counted <= 2, `${counted} before`)
  await close()
  await Promise.all(many)
})

t.test('closing ends open jobs without a result', async t => {
  const { excess, close } = counter(t)
  const open = [excess(slow, 'key-1', signal), excess(slow, 'key-1', signal)]
  await close()
  t.same(await Promise.all(open), [undefined, undefined])
})
