import t from 'tap'
import { jsonColumn } from '../../lib/stores/json-column.ts'

t.test('a column of JSON is null without a value', async t => {
  t.same([[], { a: 1 }, null, undefined].map(jsonColumn), ['[]', '{"a":1}', null, null])
})
