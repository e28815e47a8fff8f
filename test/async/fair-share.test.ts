import fc from 'fast-check'
import t from 'tap'
import { FairShare } from '../../lib/async/fair-share.ts'
import { holds } from '../support/property.ts'

/** Takes one at a time until it is refused. */
function takeAll (budget: FairShare, owner: string): number {
  let taken = 0
  while (taken < 10_000 && budget.take(owner, 1)) taken++
  return taken
}

t.test('a key may hold its share of what other keys leave free', async t => {
  const budget = new FairShare(100, 0.5)
  t.same(
    ['a', 'b', 'c'].map(owner => takeAll(budget, owner)),
    [50, 25, 12]
  )
  t.notOk(budget.take('a', 1))
  t.ok(budget.take('d', 1), 'and there is always room for one more key')
  budget.release('a', 10)
  t.ok(budget.take('d', 10), 'what one gives back, others can take')
})

t.test('with a share of 1, one key may take everything', async t => {
  const budget = new FairShare(3, 1)
  t.equal(takeAll(budget, 'a'), 3)
  t.notOk(budget.take('b', 1))
})

t.test('a single slot can be taken whatever the share', async t => {
  const budget = new FairShare(1, 0.01)
  t.ok(budget.take('a', 1))
  t.notOk(budget.take('b', 1))
})

t.test('new limits apply to later requests for space only', async t => {
  const budget = new FairShare(10, 1)
  t.equal(takeAll(budget, 'a'), 10)
  budget.resize(6, 0.5)
  t.equal(budget.used, 10, 'what is taken stays')
  t.notOk(budget.take('b', 1))
  budget.release('a', 10)
  t.equal(takeAll(budget, 'a'), 3)
  budget.resize(20, 0.5)
  t.equal(takeAll(budget, 'b'), 8)
})

t.test('the total is never exceeded, and all of it is free once everything is released', async t => {
  const step = fc.record({
    owner: fc.constantFrom('a', 'b', 'c'),
    amount: fc.integer({ min: 1, max: 20 }),
    give: fc.boolean()
  })
  holds(
    t,
    fc.property(fc.array(step), fc.double({ min: 0.1, max: 1, noNaN: true }), (steps, share) => {
      const budget = new FairShare(50, share)
      const taken: Array<readonly [string, number]> = []
      for (const { owner, amount, give } of steps) {
        const last = give ? taken.pop() : undefined
        if (last !== undefined) budget.release(...last)
        else if (budget.take(owner, amount)) taken.push([owner, amount])
        if (budget.used > 50 || budget.used !== taken.reduce((sum, [, part]) => sum + part, 0)) return false
      }
      for (const part of taken) budget.release(...part)
      return budget.used === 0 && budget.maxOf('a') === Math.max(1, Math.floor(50 * share))
    })
  )
})
