import { DatabaseSync } from '@photostructure/sqlite'
import t from 'tap'
import { migrations } from '../../lib/stores/migrations.ts'
import { migrate } from '../../lib/stores/sqlite/migrate.ts'
import type { Test } from 'tap'

function open (t: Test): InstanceType<typeof DatabaseSync> {
  const file = new DatabaseSync(':memory:')
  t.teardown(() => file.close())
  return file
}

const applied = (file: InstanceType<typeof DatabaseSync>): unknown[] => file.prepare('select number from migrations order by number').all().map(row => row['number'])
const schemaOf = (file: InstanceType<typeof DatabaseSync>): unknown[] => file.prepare('select type, name, sql from sqlite_master order by type, name').all().map(row => ({ ...row }))

t.test('steps are numbered from 1 without a gap, and a new file has them all', async t => {
  const file = open(t)
  migrate(file)
  t.same(applied(file), migrations.map((_, index) => index + 1))
})

t.test('a file of any earlier version comes to the same schema', async t => {
  const fresh = open(t)
  migrate(fresh)
  for (let steps = 1; steps < migrations.length; steps++) {
    const file = open(t)
    migrate(file, migrations.slice(0, steps))
    migrate(file)
    migrate(file)
    t.same(schemaOf(file), schemaOf(fresh), `from step ${steps}`)
    t.same(applied(file), applied(fresh))
  }
})

t.test('a step that fails takes all of its run back', async t => {
  const file = open(t)
  migrate(file, migrations.slice(0, 2))
  const before = schemaOf(file)
  t.throws(() => migrate(file, [...migrations.slice(0, 3), { number: 4, sql: 'create nonsense' }]), /syntax error/)
  t.same(schemaOf(file), before)
  t.same(applied(file), [1, 2])
})

t.test('a file of a newer version is left alone', async t => {
  const file = open(t)
  migrate(file)
  t.throws(() => migrate(file, migrations.slice(0, 3)), { message: `it was created by a newer version (step ${migrations.length} of 3)` })
})
