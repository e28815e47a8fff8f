import t from 'tap'
import { once } from '../../lib/pipeline/sources.ts'
import { deadline } from '../../lib/stages/deadline.ts'
import { collect, routedCall } from '../support/stages.ts'

t.test('the signal aborts at the deadline', async t => {
  const awake = setInterval(() => {}, 1000) // the timer of a deadline keeps no process alive
  t.teardown(() => clearInterval(awake))
  for await (const { signal } of deadline(5)(once(routedCall({})))) {
    await new Promise(resolve => { signal.addEventListener('abort', resolve) })
    t.match(signal.reason, { code: 'timeout', status: 504 })
  }
})

t.test('it still aborts with the call, with the same reason', async t => {
  const caller = new AbortController()
  for await (const { signal } of deadline(60_000)(once(routedCall({}, { signal: caller.signal })))) {
    caller.abort(new Error('left'))
    t.match(signal.reason, { message: 'left' })
  }
})

t.test('the call is otherwise the same, and its own signal is not changed', async t => {
  const call = routedCall({ model: 'a' })
  const [timed] = await collect(deadline(60_000)(once(call)))
  t.equal(timed?.request, call.request)
  t.notOk(call.signal.aborted)
})
