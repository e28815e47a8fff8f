import t from 'tap'
import { printable, printableLines } from '../../lib/text/printable.ts'

t.test('invisible characters are shown, and nothing else changes', async t => {
  t.equal(printable('böse, 名前 😀'), 'böse, 名前 😀')
  t.equal(printable('\u001b[31mred\u0007\r\n'), '\\u001b[31mred\\u0007\\u000d\\u000a')
  t.equal(printable('a\u202eb\u200bc\u2028d\u009b1m'), 'a\\u202eb\\u200bc\\u2028d\\u009b1m')
  t.equal(printable('\u{e0067}'), '\\udb40\\udc67', 'as JSON escapes it')
})

t.test('a text of several lines keeps them, and JSON its value', async t => {
  t.equal(printableLines('a\n\tb\r\nc\rd\u001b[2J\u2028'), 'a\n\tb\r\nc\\u000dd\\u001b[2J\\u2028')
  const value = { name: '\u009b2J\u202e\u{e0067}\u200d' }
  t.same(JSON.parse(printableLines(JSON.stringify(value, null, 2))), value)
})
