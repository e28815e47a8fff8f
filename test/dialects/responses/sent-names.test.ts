import t from 'tap'
import { SentNames } from '../../../lib/dialects/responses/sent-names.ts'

t.test('names are kept if possible, and mapped back', async t => {
  const names = new SentNames()
  t.equal(names.add({ name: 'get', kind: 'function' }), 'get')
  t.equal(names.add({ name: 'get', namespace: 'a', kind: 'custom' }), 'a__get')
  t.equal(names.add({ name: 'get', namespace: 'a', kind: 'custom' }), 'a__get', 'declared twice')
  t.strictSame(names.declared('a__get'), { name: 'get', namespace: 'a', kind: 'custom' })
  t.strictSame(names.declared('other'), { name: 'other', kind: 'function' })
  t.equal(names.sent('get', 'a'), 'a__get')
  t.equal(names.sent('get', null), 'get')
  t.equal(names.sent('gone', 'a'), 'a__gone', 'from an earlier answer')
})

t.test('long names are shortened and equal ones are distinguished', async t => {
  const names = new SentNames()
  const long = names.add({ name: 'x'.repeat(60), namespace: 'y'.repeat(60), kind: 'function' })
  const other = names.add({ name: `${'x'.repeat(59)}z`, namespace: 'y'.repeat(60), kind: 'function' })
  t.equal(long.length, 64)
  t.not(long, other)
  t.equal(names.add({ name: 'a__b', kind: 'function' }), 'a__b')
  const flattened = names.add({ name: 'b', namespace: 'a', kind: 'function' })
  t.match(flattened, /^a__b_[0-9a-f]{8}$/)
  t.strictSame(names.declared(flattened), { name: 'b', namespace: 'a', kind: 'function' })
})
