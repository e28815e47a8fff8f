import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CallCancellation, standardSignal } from '../../lib/async/cancellation.ts'

t.test('each listener is called once, in order, unless it was removed', async t => {
  const signal = new CallCancellation()
  const calls: string[] = []
  const removed = (): void => { calls.push('removed') }
  const removedLate = (): void => { calls.push('removed late') }
  signal.addEventListener('abort', () => { calls.push(`first: ${String(signal.reason)}`) })
  signal.addEventListener('abort', removed)
  signal.addEventListener('abort', () => { signal.removeEventListener('abort', removedLate) })
  signal.addEventListener('abort', removedLate)
  signal.addEventListener('abort', { handleEvent: () => { calls.push('an object') } })
  signal.removeEventListener('abort', removed)
  signal.throwIfAborted()
  signal.abort('why')
  signal.abort('another')
  signal.addEventListener('abort', () => { calls.push('too late') })
  t.same(calls, ['first: why', 'an object'])
  t.same([signal.aborted, signal.reason], [true, 'why'])
  t.throws(() => signal.throwIfAborted(), 'why')
})

t.test('the standard signal aborts for the same reason, whenever it is requested', async t => {
  const signal = new CallCancellation()
  const early = standardSignal(signal)
  t.equal(standardSignal(signal), early)
  t.ok(early instanceof AbortSignal)
  const calls = once(early, 'abort')
  const waiting = t.rejects(sleep(60_000, undefined, { signal: AbortSignal.any([early]) }), { name: 'AbortError' })
  const reason = new Error('over')
  signal.abort(reason)
  await calls
  await waiting
  t.equal(early.reason, reason)

  const late = new CallCancellation()
  late.abort(reason)
  t.equal(standardSignal(late).reason, reason)
  const given = new AbortController().signal
  t.equal(standardSignal(given), given)
})
