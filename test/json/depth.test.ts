import t from 'tap'
import { isDeeperThan } from '../../lib/json/depth.ts'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

t.test('levels of objects and lists count, what stands in them does not', async t => {
  t.equal(isDeeperThan('text', 0), false)
  t.equal(isDeeperThan([], 0), true)
  t.equal(isDeeperThan([], 1), false)
  t.equal(isDeeperThan({ a: [1, null, { b: 'x' }] }, 2), true)
  t.equal(isDeeperThan({ a: [1, null, { b: 'x' }] }, 3), false)
})

t.test('the depth of a text does not choose the depth of the stack', async t => {
  t.equal(isDeeperThan(JSON.parse(nested(100_000)), 99_999), true)
})
