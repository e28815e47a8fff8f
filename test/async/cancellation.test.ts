import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CallCancellation, standardSignal, abortable } from '../../lib/async/cancellation.ts'
import type { AbortListener } from '../../lib/core/call.ts'

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

t.test('the standard signal aborts for the same reason, whenever it is created', async t => {
  const signal = new CallCancellation()
  const early = standardSignal(signal)
  t.equal(standardSignal(signal), early)
  t.ok(early instanceof AbortSignal)
  const calls = once(early, 'abort')
  const waiting = t.rejects(sleep(60_000, undefined, { signal: AbortSignal.any([early]) }), {
    name: 'AbortError'
  })
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

/** Counts the listeners that are still registered. */
class Counted extends CallCancellation {
  listening = 0
  override addEventListener (type: 'abort', listener: AbortListener): void {
    this.listening++
    super.addEventListener(type, listener)
  }

  override removeEventListener (type: 'abort', listener: AbortListener): void {
    this.listening--
    super.removeEventListener(type, listener)
  }
}

t.test('work that ends first decides the result, and no listener is left', async t => {
  const signal = new Counted()
  t.equal(await abortable(Promise.resolve('done'), signal), 'done')
  await t.rejects(abortable(Promise.reject(new Error('failed')), signal), { message: 'failed' })
  await new Promise(resolve => { setImmediate(resolve) })
  t.equal(signal.listening, 0)
})

t.test('an abort rejects at once while the work continues', async t => {
  const signal = new CallCancellation()
  let end: (value: string) => void = () => undefined
  const work = new Promise<string>(resolve => { end = resolve })
  const waiting = abortable(work, signal)
  signal.abort(new Error('left'))
  await t.rejects(waiting, { message: 'left' })
  end('later')
  t.equal(await work, 'later')
})

t.test('a signal that has already aborted rejects, even when the work fails later', async t => {
  const signal = new CallCancellation()
  signal.abort(new Error('left'))
  await t.rejects(abortable(Promise.reject(new Error('failed')), signal), { message: 'left' })
})
