import t from 'tap'
import { inputItemPage } from '../../../lib/dialects/responses/input-item-list.ts'
import type { StoredItem } from '../../../lib/dialects/responses/archive.ts'

const items = ['a', 'b', 'c'].map((id): StoredItem => ({ id, type: 'message', role: 'user', content: id }))
const page = (query: string, list = items): unknown => {
  const { data, ...about } = inputItemPage(list, query)
  return { ids: data.map(({ id }) => id), ...about }
}

t.test('the latest item comes first, unless the query says otherwise', async t => {
  t.strictSame(page(''), {
    ids: ['c', 'b', 'a'],
    object: 'list',
    first_id: 'c',
    last_id: 'a',
    has_more: false
  })
  t.strictSame(page('order=asc&limit=2'), {
    ids: ['a', 'b'],
    object: 'list',
    first_id: 'a',
    last_id: 'b',
    has_more: true
  })
  t.strictSame(page('order=asc&limit=2&after=b'), {
    ids: ['c'],
    object: 'list',
    first_id: 'c',
    last_id: 'c',
    has_more: false
  })
  t.strictSame(page('after=a'), { ids: [], object: 'list', first_id: '', last_id: '', has_more: false })
})

t.test('pagination ends even if an id occurs twice', async t => {
  t.match(page('order=asc&after=a', [...items, ...items]), { ids: ['b', 'c'] })
})

t.test('the error names the invalid parameter', async t => {
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['order=up', 'order'],
    ['after=z', 'after']
  ] as const) {
    t.throws(() => page(query), { code: 'invalid_value', param })
  }
})
