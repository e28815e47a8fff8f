import t from 'tap'
import { entriesOf, isEmpty, listOf, numberOf, objectOf, textOf } from '../../lib/import/values.ts'

t.test('values of another shape count as absent', async t => {
  t.same([textOf('a'), textOf(''), textOf(1)], ['a', undefined, undefined])
  t.same(['1.5', 2, 0, '', ' ', 'x', -1, NaN, null, {}].map(numberOf), [1.5, 2, 0, ...Array(7).fill(undefined)])
  t.same([objectOf({ a: 1 }), objectOf([1]), objectOf(null)], [{ a: 1 }, {}, {}])
  t.same([entriesOf({ a: 1 }), entriesOf('ab')], [[['a', 1]], []])
  t.same([listOf([1]), listOf({})], [[1], []])
  t.same([isEmpty({}), isEmpty({ a: undefined })], [true, false])
})
