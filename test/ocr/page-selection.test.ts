import t from 'tap'
import { checkPages, parsePages } from '../../lib/ocr/page-selection.ts'

t.test('pages are numbers or ranges, in order and each once', async t => {
  const rows: Array<[string | number[], number[]]> = [
    ['0', [0]],
    ['0,2-4', [0, 2, 3, 4]],
    [' 3 , 1 - 2,2', [1, 2, 3]],
    [[4, 0, 4], [0, 4]]
  ]
  for (const [given, expected] of rows) t.strictSame(parsePages(given, 10), expected, String(given))
  for (const given of ['', 'x', '1-', '-1', '4-2', '1,,2', '0-10', '0-9,0-9', '100000', []]) {
    t.throws(() => parsePages(given, 10), { code: 'invalid_value', param: 'pages' }, String(given))
  }
})

t.test('a document must have the selected pages', async t => {
  checkPages([0, 2], 3)
  t.throws(() => checkPages([0, 3], 3), {
    code: 'invalid_value', param: 'pages', message: /no page 3.* 3 pages/
  })
})
