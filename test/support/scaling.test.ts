import t from 'tap'
import { faultsOf, growthOf } from './scaling.ts'

const list = (size: number): number[] => Array.from({ length: size }, (_, index) => index)

t.test('linear work passes, with any constant part', async t => {
  t.same(faultsOf(growthOf({ input: list, run: items => items.map(item => ({ item })) })), [])
  t.same(faultsOf(growthOf({ input: list, run: items => list(2000).length + items.length })), [])
})

t.test('quadratic time is found, and so is quadratic memory', async t => {
  const slow = growthOf({
    input: list,
    run: items => items.filter(item => items.indexOf(item) !== item),
    from: 512
  })
  t.match(faultsOf(slow), [/512: .* ms/])
  const copies = growthOf({
    input: list,
    run: items => items.map((_, index) => items.slice(0, index)),
    from: 256
  })
  t.match(faultsOf(copies).join('\n'), /bytes/)
})

t.test('exponential work ends with a finding instead of a hanging test', async t => {
  const twice = (depth: number): number => depth === 0 ? 1 : twice(depth - 1) + twice(depth - 1)
  const growth = growthOf({ input: size => size, run: twice, from: 16, doublings: 2, patienceMs: 1500 })
  t.match(faultsOf(growth), [/no end for size 32/])
})
