import t from 'tap'
import { parseBounded } from '../../lib/json/parse-bounded.ts'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

t.test('texts of others are parsed up to 256 levels', async t => {
  t.same(parseBounded(nested(256)), JSON.parse(nested(256)))
  t.throws(() => parseBounded(nested(257)), SyntaxError)
  t.throws(() => parseBounded('[1,'), SyntaxError)
})

t.test('what takes more than 40 ms to parse is refused', async t => {
  const list = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join()}]`
  t.equal(Object(parseBounded(list(400_000, '1'))).length, 400_000)
  t.throws(() => parseBounded(list(600_000, '1')), SyntaxError)
  t.throws(() => parseBounded(list(70_000, '{}')), SyntaxError)
  t.equal(Object(parseBounded(list(5, JSON.stringify(',{"'.repeat(300_000))))).length, 5, 'what a text holds is no value')
})
