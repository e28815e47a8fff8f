import t from 'tap'
import { readDocument } from '../../lib/config/config-document.ts'
import { printDocument } from '../../lib/config/print-document.ts'

t.test('a printed document is parsed to the same value', async t => {
  const value = { a: 'true', b: ['*', 'x: y', '2024-10-21'], c: { 'd/*': 1.5e-7 } }
  t.same(readDocument(printDocument(value), 'x.yaml').value, value)
})
