import t from 'tap'
import { OpenCallEntry, OpenCalls } from '../../lib/http/open-calls.ts'
import { until } from '../support/until.ts'

function entry (): OpenCallEntry {
  return new OpenCallEntry(() => undefined)
}

t.test('calls are listed in the order they came, without those that ended', async t => {
  const open = new OpenCalls()
  const [first, second, third] = [entry(), entry(), entry()]
  for (const one of [first, second, third]) open.add(one)
  t.ok([...open].every((one, index) => one === [first, second, third][index]))
  open.delete(second)
  t.equal(open.size, 2)
  t.ok([...open].every((one, index) => one === [first, third][index]))
  open.delete(first)
  open.delete(third)
  t.same([...open], [])
  t.equal(open.size, 0)
})

t.test('a list of open calls stays as it is while calls come and go', async t => {
  const open = new OpenCalls()
  const [first, second] = [entry(), entry()]
  open.add(first)
  open.add(second)
  let seen = 0
  for (const one of open) {
    seen++
    open.delete(one)
    open.add(entry())
  }
  t.equal(seen, 2)
  t.equal(open.size, 2)
})

t.test('a call that ended keeps no other alive', async t => {
  const open = new OpenCalls()
  const [first, second] = [entry(), entry()]
  open.add(first)
  open.add(second)
  open.delete(first)
  t.ok(first.next === first && first.previous === first)
})

/** Adds a call that is to end after `ms`; `endedBy` returns what ended it. */
function callOf (open: OpenCalls, ms: number): { readonly entry: OpenCallEntry, readonly endedBy: () => string | undefined } {
  let code: string | undefined
  const entry = new OpenCallEntry(error => { code = error.code }, performance.now() + ms)
  open.add(entry)
  return { entry, endedBy: () => code }
}

t.test('a call past its deadline is ended, whatever the order of deadlines', async t => {
  const open = new OpenCalls()
  const [late, first, second, ended] = [60_000, 1, 30, 1].map(ms => callOf(open, ms))
  if (ended !== undefined) open.delete(ended.entry)
  await until(() => first?.endedBy() === 'timeout', 'the earliest deadline')
  await until(() => second?.endedBy() === 'timeout', 'the next deadline')
  t.equal(late?.endedBy(), undefined)
  t.equal(ended?.endedBy(), undefined, 'a call that ended is left alone')
  const shorter = callOf(open, 1)
  await until(() => shorter.endedBy() === 'timeout', 'the deadline of a call that came later')
})

t.test('open calls keep one timer, which does not keep the process', async t => {
  const open = new OpenCalls()
  const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = timers()
  const made = t.capture(globalThis, 'setTimeout', globalThis.setTimeout)
  for (let call = 0; call < 1000; call++) callOf(open, 60_000 + call)
  t.equal(made().length, 1)
  t.equal(timers(), before)
})
