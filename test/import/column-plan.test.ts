import t from 'tap'
import { ColumnPlan, TableRow } from '../../lib/import/column-plan.ts'
import type { JsonObject } from '../../lib/json/type-guards.ts'

const notes = { Key: { made: ['exact', 'not kept'], limit: ['unsupported', 'no such limit'] } } as const

function rowsOf (...rows: readonly JsonObject[]) {
  const plan = new ColumnPlan(notes)
  for (const [index, row] of rows.entries()) {
    const read = new TableRow(plan, 'Key', row, `row ${index + 1}`)
    read.note('own', 'approximate', 'something like it')
    read.noteOthers()
  }
  return plan.rows
}

t.test('each column with a value is reported once with its rows', async t => {
  t.same(rowsOf({ made: 'x', own: 1, other: true }, { made: 'y', own: 1, limit: 5 }), [
    { path: 'Key.made', verdict: 'exact', note: 'not kept (row 1, row 2)' },
    { path: 'Key.own', verdict: 'approximate', note: 'something like it (row 1, row 2)' },
    { path: 'Key.limit', verdict: 'unsupported', note: 'no such limit (row 2)' },
    { path: 'Key.other', verdict: 'unsupported', note: 'no counterpart (row 1)' }
  ])
  t.match(rowsOf({ made: 1 }, { made: 1 }, { made: 1 }, { made: 1 }), [{ note: 'not kept (4 rows)' }])
})

t.test('null, false, 0 and empty texts, lists and objects count as empty, also as text', async t => {
  t.same(rowsOf({ a: null, b: '', c: false, d: [], e: {}, f: '{}', g: '[ ]', h: 0 }), [])
  t.match(rowsOf({ a: '{"x":1}', b: '[broken' }), [{ path: 'Key.a' }, { path: 'Key.b' }])
})

t.test('values are read by their type, times in UTC', async t => {
  const row = new TableRow(
    new ColumnPlan({}),
    'Key',
    {
      time: '2026-10-14T12:00:00.5',
      zoned: '2026-10-14T12:00:00+02:00',
      list: '["a",1,"b"]',
      object: '{"x":1}',
      flag: true,
      none: 'x'
    },
    'one'
  )
  t.same(
    [row.time('time'), row.time('zoned'), row.time('none'), row.time('absent')],
    [Date.UTC(2026, 9, 14, 12, 0, 0, 500), Date.UTC(2026, 9, 14, 10), undefined, undefined]
  )
  t.same(
    [row.texts('list'), row.object('object'), row.isTrue('flag'), row.number('none'), row.text('absent')],
    [['a', 'b'], { x: 1 }, true, undefined, undefined]
  )
})
