import t from 'tap'
import { blendedPrice, costAttribute } from '../../lib/models/price.ts'

t.test('cost follows from the price: expensive is 1', async t => {
  const asOf = '2026-01-01'
  t.equal(blendedPrice({ input: 1, output: 5, asOf }), 2)
  t.equal(blendedPrice({ input: 1, asOf }), 1)
  t.equal(blendedPrice({ output: 1, asOf }), undefined)
  t.equal(costAttribute(undefined), undefined)
  for (const [usd, cost] of [
    [0, 0],
    [0.01, 0],
    [0.1, 0],
    [1, 1 / 3],
    [10, 2 / 3],
    [100, 1],
    [5000, 1]
  ] as const) {
    t.ok(Math.abs((costAttribute({ input: usd, asOf }) ?? NaN) - cost) < 1e-9, `${usd} USD are ${cost}`)
  }
})
