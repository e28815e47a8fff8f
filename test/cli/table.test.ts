import t from 'tap'
import { table } from '../../lib/cli/table.ts'

t.test('columns are as wide as their longest cell, without trailing spaces', async t => {
  t.equal(table([['KEY', 'CALLS'], ['website', '1'], ['x', '']]), 'KEY      CALLS\nwebsite  1\nx')
  t.equal(table([]), '')
})

t.test('a name cannot move the cursor or start a row', async t => {
  t.equal(
    table([
      ['KEY', 'CALLS'],
      ['\u001b[2Ja\nb', '1']
    ]),
    'KEY                CALLS\n\\u001b[2Ja\\u000ab  1'
  )
})
