import t from 'tap'
import { ImportPlan } from '../../lib/import/plan.ts'
import { freeSlug, plainArguments, toolServerSlug } from '../../lib/import/imported-tool-servers.ts'

t.test('a tool server gets a unique name from its name in the other gateway', async t => {
  t.equal(toolServerSlug('bifrost', 'my server'), 'bifrost/my-server')
  t.same([freeSlug('a/b', {}), freeSlug('a/b', { 'a/b': 1, 'a/b-2': 1 })], ['a/b', 'a/b-3'])
})

t.test('arguments that may hold a secret must be moved by hand', async t => {
  const args = { plain: ['-y', 'server'], named: ['--token', 'x'], long: ['aaaaaaaaaaaaaaaaaaaaaaaaaaaa'] }
  const plan = new ImportPlan(args)
  t.same(
    [
      plainArguments(args.plain, 'plain', plan),
      plainArguments(args.named, 'named', plan),
      plainArguments(args.long, 'long', plan)
    ],
    [['-y', 'server'], [], []]
  )
  t.same(
    plan.rows.map(({ verdict }) => verdict),
    ['exact', 'manual', 'manual']
  )
})
