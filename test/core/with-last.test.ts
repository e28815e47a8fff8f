import t from 'tap'
import { withLast } from '../../lib/core/with-last.ts'

t.test('a list is followed by another member, and stays as it is', async t => {
  const list = ['a', 'b']
  t.same(withLast(list, 'c'), ['a', 'b', 'c'])
  t.same(withLast([], 'c'), ['c'])
  t.same(list, ['a', 'b'])
})
