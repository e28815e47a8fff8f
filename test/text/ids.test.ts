import t from 'tap'
import { completionId, isRowId, requestId, rowId, toolCallId } from '../../lib/text/ids.ts'

t.test("a caller's id is kept if it is plain", async t => {
  for (const id of ['a', 'trace_1-B', 'x'.repeat(64)]) t.equal(requestId(id), id)
})

t.test('any other is replaced by a new one', async t => {
  for (const id of [undefined, '', 'x'.repeat(65), 'a b', 'a\nb', 'ä', ['a', 'b']]) {
    t.match(requestId(id), /^[\da-f]{32}$/)
  }
})

t.test('ids of answers and tool calls have the form of the dialect and are unique', async t => {
  t.match(completionId(), /^chatcmpl-[\da-f]{32}$/)
  t.match(toolCallId(), /^call_[\da-f]{24}$/)
  for (const make of [completionId, toolCallId, () => requestId(undefined)]) {
    t.equal(new Set(Array.from({ length: 1000 }, make)).size, 1000)
  }
})

t.test('row ids of one process are in the order of creation', async t => {
  const rows = Array.from({ length: 100 }, rowId).map(id => /^([\w-]{12})-([\da-z]+)$/.exec(id))
  t.notOk(rows.includes(null), 'each has a beginning and a number')
  t.equal(new Set(rows.map(row => row?.[1])).size, 1, 'one process, one beginning')
  const numbers = rows.map(row => Number.parseInt(row?.[2] ?? '', 36))
  t.same(numbers, numbers.map((_, index) => (numbers[0] ?? 0) + index))
})

t.test('a row id cannot be confused with the ids of calls', async t => {
  for (let count = 0; count < 100; count++) t.ok(isRowId(rowId()))
  for (const id of [requestId(undefined), completionId(), 'one', '']) t.notOk(isRowId(id), id)
})
