import t from 'tap'
import {
  entriesOf,
  isEmpty,
  isPlainAddress,
  milliseconds,
  amountOf,
  objectOrEmpty
} from '../../lib/import/values.ts'

t.test('values of the wrong type count as absent', async t => {
  t.same(['1.5', 2, 0, '', ' ', 'x', -1, NaN, null, {}].map(amountOf), [
    1.5,
    2,
    0,
    ...Array(7).fill(undefined)
  ])
  t.same([objectOrEmpty({ a: 1 }), objectOrEmpty([1]), objectOrEmpty(null)], [{ a: 1 }, {}, {}])
  t.same([entriesOf({ a: 1 }), entriesOf('ab')], [[['a', 1]], []])
  t.same([isEmpty({}), isEmpty({ a: undefined })], [true, false])
})

t.test('seconds become milliseconds within the range of a timeout', async t => {
  t.same([0, 0.5, 600, 1e9].map(milliseconds), [1, 500, 600_000, 86_400_000])
})

t.test('an address may be written to a configuration only without user, query and fragment', async t => {
  t.same(
    [
      'https://a.example/v1',
      'http://10.0.0.1:8000',
      'https://u:p@a.example',
      'https://a.example?key=x',
      'https://a.example#x',
      'ftp://a.example',
      'a.example'
    ].map(isPlainAddress),
    [true, true, false, false, false, false, false]
  )
})
