import t from 'tap'
import { firstInvalidChar, isHeaderSafe, toHeaderValue } from '../../lib/text/header-value.ts'

t.test('tabs, printable ASCII and Latin-1 are valid in a header', async t => {
  for (const text of ['', 'Bearer abc', 'a\tb', 'café', '\u00ff']) {
    t.ok(isHeaderSafe(text), JSON.stringify(text))
    t.equal(firstInvalidChar(text), 0)
  }
})

t.test(
  'line ends, control characters and text beyond Latin-1 are not; positions count from 1',
  async t => {
    const rows = [
      ['a\r\nb: c', 2],
      ['\n', 1],
      ['ab\0', 3],
      ['abc\u007f', 4],
      ['x→', 2],
      ['🎈', 1]
    ] as const
    for (const [text, position] of rows) {
      t.notOk(isHeaderSafe(text), JSON.stringify(text))
      t.equal(firstInvalidChar(text), position)
    }
  }
)

t.test('any name becomes a header value of at most 256 printable characters', async t => {
  t.equal(toHeaderValue('gpt-5\r\nx: café 🎈'), 'gpt-5??x: caf? ??')
  t.equal(toHeaderValue('m'.repeat(300)).length, 256)
})
