import t from 'tap'
import { isDeeperThan } from '../../lib/json/depth.ts'
import { parseBounded } from '../../lib/json/parse-bounded.ts'

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

t.test('texts of others are parsed up to 256 levels', async t => {
  t.same(parseBounded(nested(256)), JSON.parse(nested(256)))
  t.throws(() => parseBounded(nested(257)), SyntaxError)
  t.throws(() => parseBounded('[1,'), SyntaxError)
})
