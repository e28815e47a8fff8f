import t from 'tap'
import { ServedSessions, ToolCallOrigins } from '../../lib/routing/served-conversations.ts'

t.test('the models of a session are remembered, each with its last answer', async t => {
  const served = new ServedSessions()
  t.equal(served.servedAtMs('s', 'a/m'), undefined)
  served.note('s', 'a/m')
  served.note('s', 'b/m')
  const [first = 0, second = 0] = ['a/m', 'b/m'].map(id => served.servedAtMs('s', id))
  t.ok(first > 0 && first <= second && second <= performance.now())
  t.equal(served.servedAtMs('other', 'a/m'), undefined)
})

t.test('ten minutes after its last answer a model has no preference for the session', async t => {
  const now = performance.now.bind(performance)
  let laterMs = 0
  t.intercept(performance, 'now', { value: () => now() + laterMs })
  const served = new ServedSessions()
  served.note('s', 'a/m')
  laterMs = 9 * 60_000
  t.type(served.servedAtMs('s', 'a/m'), 'number')
  served.note('s', 'a/m')
  laterMs += 9 * 60_000
  t.type(served.servedAtMs('s', 'a/m'), 'number', 'each answer counts anew')
  laterMs += 60_000
  t.equal(served.servedAtMs('s', 'a/m'), undefined)
})

t.test('the last provider that made a call is remembered', async t => {
  const origins = new ToolCallOrigins()
  origins.note(['a', 'b'], 'one')
  origins.note(['b'], 'two')
  t.same(['a', 'b', 'c'].map(id => origins.providerOf(id)), ['one', 'two', undefined])
})

t.test('ten thousand ids are remembered, then the oldest are dropped; a used one counts as new', async t => {
  const origins = new ToolCallOrigins()
  origins.note(['first', 'second'], 'one')
  origins.note(Array.from({ length: 9998 }, (_, index) => `id-${index}`), 'one')
  origins.note(['first'], 'one')
  origins.note(['more'], 'one')
  t.same(
    ['first', 'second', 'id-0', 'more'].map(id => origins.providerOf(id)),
    ['one', undefined, 'one', 'one']
  )
})

t.test("ids longer than any provider's are not remembered", async t => {
  const origins = new ToolCallOrigins()
  const [long, tooLong] = ['x'.repeat(256), 'x'.repeat(257)]
  origins.note([tooLong, long], 'one')
  t.same([long, tooLong].map(id => origins.providerOf(id)), ['one', undefined])
})
