import t from 'tap'
import { ExtraRequestBudget } from '../../lib/routing/extra-request-budget.ts'

t.test('one hedge is free, then twenty calls earn one, and at most ten are saved', async t => {
  const budget = new ExtraRequestBudget()
  t.same([budget.take(), budget.take()], [true, false])
  for (let call = 0; call < 19; call++) budget.onCall()
  t.equal(budget.take(), false)
  for (let call = 0; call < 2; call++) budget.onCall()
  t.equal(budget.take(), true)
  for (let call = 0; call < 10_000; call++) budget.onCall()
  let taken = 0
  while (taken < 1000 && budget.take()) taken++
  t.equal(taken, 10)
})
