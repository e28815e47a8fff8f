import t from 'tap'
import { beyond, pageOf, pageRequest } from '../../lib/stores/pages.ts'
import { openSqlite } from '../../lib/stores/sqlite/open.ts'

t.test('pages have every entry once, even if many have the same time', async t => {
  const { query, close } = await openSqlite(t.testdir())
  t.teardown(close)
  const rows = Array.from({ length: 25 }, (_, index) => ({
    id: `p${String(index).padStart(2, '0')}`,
    name: `p${index}`,
    models: null,
    limits: null,
    created_at_ms: 1 + Math.floor(index / 10),
    archived_at_ms: null
  }))
  await query.insertInto('projects').values(rows).execute()
  for (const order of ['asc', 'desc'] as const) {
    const seen: string[] = []
    for (let cursor: string | null = null; ;) {
      const page = pageRequest(new URLSearchParams({ limit: '7', ...cursor !== null && { cursor } }))
      const found = await query
        .selectFrom('projects')
        .selectAll()
        .where('id', '!=', 'default')
        .where(beyond(page, 'created_at_ms', 'id', order))
        .orderBy('created_at_ms', order)
        .orderBy('id', order)
        .limit(page.limit + 1)
        .execute()
      const { data, next_cursor: next } = pageOf(
        found,
        page,
        ({ created_at_ms: ms, id }) => ({ ms, id }),
        ({ id }) => id
      )
      seen.push(...data)
      if (next === null) break
      cursor = next
    }
    const ids = rows.map(({ id }) => id)
    t.same(seen, order === 'asc' ? ids : ids.toReversed())
  }
})

t.test('an invalid query is refused with its parameter', async t => {
  const of = (text: string) => () => pageRequest(new URLSearchParams(text))
  t.same(of('')(), { limit: 50 })
  for (const limit of ['0', '201', '1.5', 'x', '']) {
    t.throws(of(`limit=${limit}`), { code: 'invalid_value', param: 'limit' })
  }
  for (const cursor of [
    'x',
    '',
    Buffer.from('1').toString('base64url'),
    Buffer.from('x y').toString('base64url')
  ]) {
    t.throws(of(`cursor=${cursor}`), { code: 'invalid_value', param: 'cursor' })
  }
})
