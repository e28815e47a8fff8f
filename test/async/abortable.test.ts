import t from 'tap'
import { abortable } from '../../lib/async/abortable.ts'
import { CallCancellation } from '../../lib/async/cancellation.ts'
import type { AbortListener } from '../../lib/core/call-signal.ts'

/** Counts the listeners that are left. */
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

t.test('the work decides when it ends first, and nothing is left listening', async t => {
  const signal = new Counted()
  t.equal(await abortable(Promise.resolve('done'), signal), 'done')
  await t.rejects(abortable(Promise.reject(new Error('failed')), signal), { message: 'failed' })
  await new Promise(resolve => { setImmediate(resolve) })
  t.equal(signal.listening, 0)
})

t.test('an abort rejects at once, while the work goes on', async t => {
  const signal = new CallCancellation()
  let end: (value: string) => void = () => undefined
  const work = new Promise<string>(resolve => { end = resolve })
  const waiting = abortable(work, signal)
  signal.abort(new Error('left'))
  await t.rejects(waiting, { message: 'left' })
  end('later')
  t.equal(await work, 'later')
})

t.test('a signal that has aborted before rejects too, even when the work fails later', async t => {
  const signal = new CallCancellation()
  signal.abort(new Error('left'))
  await t.rejects(abortable(Promise.reject(new Error('failed')), signal), { message: 'left' })
})
