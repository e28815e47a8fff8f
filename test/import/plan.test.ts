import t from 'tap'
import { ImportPlan } from '../../lib/import/plan.ts'

const file = { list: [{ a: 1, 'b.c': { d: 2 } }], empty: {}, other: 3 }

t.test('only existing entries get a row, and the worst verdict on one wins', async t => {
  const plan = new ImportPlan(file)
  plan.note('list[0].a', 'exact', 'first')
  plan.note('list[0].a', 'exact', 'again')
  plan.note('list[0].a', 'manual', 'worse')
  plan.note('list[0].a', 'approximate', 'better')
  plan.note('list[0].b.c.d', 'exact', 'a name with a dot')
  plan.note('list[1]', 'exact', 'not there')
  plan.note('missing', 'exact', 'not there')
  t.same(plan.rows, [
    { path: 'list[0].a', verdict: 'manual', note: 'worse' },
    { path: 'list[0].b.c.d', verdict: 'exact', note: 'a name with a dot' }
  ])
})

t.test('an entry that nothing reported is unsupported unless an enclosing one has a row', async t => {
  const plan = new ImportPlan(file)
  plan.note('list[0]', 'exact', 'all of it')
  plan.noteOthers()
  t.same(
    plan.rows.map(({ path, verdict }) => [path, verdict]),
    [
      ['list[0]', 'exact'],
      ['other', 'unsupported']
    ]
  )
})
