import t from 'tap'
import { pathOfField, visitFields } from '../../lib/json/visit-fields.ts'

const value = { a: [{ b: 1 }, [{ c: { d: null } }]], skipped: { e: 2 }, f: 'x' }

t.test('each field is visited once, fields of skipped values never', async t => {
  const seen: string[] = []
  t.equal(visitFields(value, new Set(['skipped']), name => { seen.push(name); return false }), false)
  t.same(seen, ['a', 'skipped', 'f', 'b', 'c', 'd'])
})

t.test('each field has a path from the value', async t => {
  const paths: string[] = []
  visitFields(value, new Set(), (name, _field, of) => { paths.push(pathOfField(name, of)); return false })
  t.same(paths, ['a', 'skipped', 'f', 'skipped.e', 'a[0].b', 'a[1][0].c', 'a[1][0].c.d'])
})

t.test('nothing is visited after a visit that returned true', async t => {
  let visits = 0
  t.equal(visitFields(value, new Set(), name => { visits++; return name === 'a' }), true)
  t.equal(visits, 1)
})

t.test('values of any depth and type are visited', async t => {
  let deep: unknown = 'end'
  for (let level = 0; level < 100_000; level++) deep = { in: deep }
  let visits = 0
  visitFields(deep, new Set(), () => { visits++; return false })
  t.equal(visits, 100_000)
  for (const other of [null, undefined, 1, 'text', []]) {
    t.equal(
      visitFields(other, new Set(), () => true),
      false
    )
  }
})
