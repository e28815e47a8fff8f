import t from 'tap'
import { append } from '../../lib/json/append.ts'

t.test('members are added in their order, more than a call has room for', async t => {
  const list = [0]
  append(list, [1, 2])
  append(list, new Set([3]))
  t.same(list, [0, 1, 2, 3])
  append(list, Array.from({ length: 500_000 }, (_, number) => number))
  t.equal(list.length, 500_004)
})
