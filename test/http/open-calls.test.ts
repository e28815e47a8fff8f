import t from 'tap'
import { RingMember } from '../../lib/async/ring.ts'
import { OpenCalls, type OpenCall } from '../../lib/http/open-calls.ts'
import type { GatewayError } from '../../lib/core/errors.ts'
import { until } from '../support/until.ts'

/** Adds a call with a deadline in `ms`; `endedBy` returns what ended it. */
function openCall (
  open: OpenCalls,
  ms: number
): { readonly call: OpenCall, readonly endedBy: () => string | undefined } {
  let code: string | undefined
  const call: OpenCall = Object.assign(new RingMember(), {
    abort: (error: GatewayError) => { code = error.code },
    deadlineMs: performance.now() + ms
  })
  open.add(call)
  return { call, endedBy: () => code }
}

t.test('calls are listed until they end', async t => {
  const open = new OpenCalls()
  const [first, second] = [openCall(open, 60_000), openCall(open, 60_000)]
  open.delete(first.call)
  t.equal(open.size, 1)
  t.ok([...open][0] === second.call)
})

t.test('a call past its deadline is ended, in whatever order deadlines were set', async t => {
  const open = new OpenCalls()
  const [late, first, second, ended] = [60_000, 1, 30, 1].map(ms => openCall(open, ms))
  if (ended !== undefined) open.delete(ended.call)
  await until(() => first?.endedBy() === 'timeout', 'the earliest deadline')
  await until(() => second?.endedBy() === 'timeout', 'the next deadline')
  t.equal(late?.endedBy(), undefined)
  t.equal(ended?.endedBy(), undefined, 'a call that ended is left alone')
  const shorter = openCall(open, 1)
  await until(() => shorter.endedBy() === 'timeout', 'the deadline of a call that came later')
})

t.test('all open calls share one timer, which does not keep the process alive', async t => {
  const open = new OpenCalls()
  const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = timers()
  const made = t.capture(globalThis, 'setTimeout', globalThis.setTimeout)
  for (let call = 0; call < 1000; call++) openCall(open, 60_000 + call)
  t.equal(made().length, 1)
  t.equal(timers(), before)
})
