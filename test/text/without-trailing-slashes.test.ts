import t from 'tap'
import { withoutTrailingSlashes } from '../../lib/text/without-trailing-slashes.ts'

t.test('trailing slashes are removed, others stay', async t => {
  const rows = [
    ['http://a/v1//', 'http://a/v1'],
    ['/a//b', '/a//b'],
    ['a', 'a'],
    ['', ''],
    ['///', '']
  ] as const
  for (const [text, expected] of rows) t.equal(withoutTrailingSlashes(text), expected)
})
