import t from 'tap'
import { csvRow } from '../../lib/text/csv.ts'

t.test('cells are quoted if needed, and cannot run as formulas', async t => {
  t.equal(
    csvRow(['plain', 1.5, -2, null, 'a,b', 'say "x"', 'two\nlines']),
    'plain,1.5,-2,,"a,b","say ""x""","two\nlines"\r\n'
  )
  t.equal(
    csvRow(['\n=1', '\r=1', '＝1', '＋1', '－1', '＠x']),
    "\"'\n=1\",\"'\r=1\",'＝1,'＋1,'－1,'＠x\r\n"
  )
  t.equal(csvRow(['=1+1', '+1', '-1', '@x', '\tx']), "'=1+1,'+1,'-1,'@x,'\tx\r\n")
})
