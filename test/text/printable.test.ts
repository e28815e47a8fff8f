import t from 'tap'
import { printable } from '../../lib/text/printable.ts'

t.test('what cannot be seen is shown, and nothing else changes', async t => {
  t.equal(printable('böse, 名前 😀'), 'böse, 名前 😀')
  t.equal(printable('\u001b[31mred\u0007\r\n'), '\\u001b[31mred\\u0007\\u000d\\u000a')
  t.equal(printable('a\u202eb\u200bc\u2028d\u009b1m'), 'a\\u202eb\\u200bc\\u2028d\\u009b1m')
})
