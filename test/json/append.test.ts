import t from 'tap'
import { append } from '../../lib/json/append.ts'

t.test('items are appended in order, even more than a function call accepts as arguments', async t => {
  const list = [0]
  append(list, [1, 2])
  append(list, new Set([3]))
  t.same(list, [0, 1, 2, 3])
  append(list, Array.from({ length: 500_000 }, (_, number) => number))
  t.equal(list.length, 500_004)
})
