import t from 'tap'
import { ToolCallOrigins } from '../../lib/routing/tool-call-origins.ts'

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
