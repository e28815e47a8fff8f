import t from 'tap'
import { faultsOf, growthOf, type Scaling } from './scaling.ts'

const list = (size: number): number[] => Array.from({ length: size }, (_, index) => index)

/** A clock by which everything takes equally long. */
const everMs = (): number => ticks++
let ticks = 0

/** Counts the steps of some work as milliseconds: the time of each run is exact. */
function counted (from: number, stepsOf: (size: number) => number): Scaling<number[]> {
  let steps = 0
  return {
    input: list, run: items => { steps += stepsOf(items.length) }, from, clock: () => steps / 100_000
  }
}

t.test('linear work passes, with any constant part', async t => {
  for (const stepsOf of [
    (size: number) => size,
    (size: number) => 2000 + size,
    (size: number) => size * Math.log2(size)
  ]) {
    const growth = growthOf(counted(128, stepsOf))
    t.equal(growth.times.length, growth.sizes.length)
    t.same(faultsOf({ ...growth, bytes: [] }), [])
  }
  const { bytes, sizes } = growthOf({
    input: list, run: items => items.map(item => ({ item })), from: 4096, clock: everMs
  })
  t.same(faultsOf({ sizes, times: [], bytes }), [])
})

t.test('quadratic time is found, and so is quadratic memory', async t => {
  t.match(faultsOf(growthOf(counted(512, size => size ** 2))), [/512: .* ms/])
  t.match(faultsOf(growthOf(counted(512, size => size + size ** 2 / 100))), [/512: .* ms/])
  const { sizes, bytes } = growthOf({
    input: list,
    run: items => items.map((_, index) => items.slice(0, index)),
    from: 256,
    clock: everMs
  })
  t.match(faultsOf({ sizes, times: [], bytes }), [/256: .* bytes/])
})

t.test('the time is that of the processor', async t => {
  const { times } = growthOf({
    input: list,
    run: items => items.filter(item => items.indexOf(item) !== item),
    from: 4096,
    doublings: 1
  })
  t.equal(times.length, 2)
  t.ok(times.every(ms => ms > 0.1), times.join(', '))
})

t.test('exponential work ends with a finding instead of a hanging test', async t => {
  const twice = (depth: number): number => depth === 0 ? 1 : twice(depth - 1) + twice(depth - 1)
  const growth = growthOf({ input: size => size, run: twice, from: 16, doublings: 2, patienceMs: 1500 })
  t.match(faultsOf(growth), [/no end for size 32/])
})
