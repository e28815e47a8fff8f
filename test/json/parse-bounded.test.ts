import t from 'tap'
import { parseBounded } from '../../lib/json/parse-bounded.ts'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

t.test('texts of others are parsed up to 256 levels', async t => {
  t.same(parseBounded(nested(256)), JSON.parse(nested(256)))
  t.throws(() => parseBounded(nested(257)), SyntaxError)
  t.throws(() => parseBounded('[1,'), SyntaxError)
})
