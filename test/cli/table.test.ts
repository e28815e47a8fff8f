import t from 'tap'
import { table } from '../../lib/cli/table.ts'

t.test('columns are as wide as their longest cell, and no line ends in spaces', async t => {
  t.equal(table([['KEY', 'CALLS'], ['website', '1'], ['x', '']]), 'KEY      CALLS\nwebsite  1\nx')
  t.equal(table([]), '')
})
