import t from 'tap'
import { ExpiringMap } from '../../lib/async/expiring-map.ts'
import { until } from '../support/until.ts'

t.test('an entry exists until it expires', async t => {
  const map = new ExpiringMap<string>(10)
  map.set('soon', 'a', 1)
  map.set('late', 'b', 60_000)
  map.set('never', 'c', 0)
  t.equal(map.get('never'), undefined)
  await until(() => map.get('soon') === undefined, 'the entry to expire')
  t.equal(map.get('late'), 'b')
})

t.test('setting an entry again replaces its value and expiry', async t => {
  const map = new ExpiringMap<string>(10)
  map.set('a', 'old', 0)
  map.set('a', 'new', 60_000)
  t.equal(map.get('a'), 'new')
  map.delete('a')
  t.equal(map.get('a'), undefined)
})

t.test('an entry beyond the limit evicts the one that was set first', async t => {
  const map = new ExpiringMap<number>(2)
  map.set('a', 1, 60_000)
  map.set('b', 2, 60_000)
  map.set('a', 3, 60_000)
  map.set('c', 4, 60_000)
  t.same(['a', 'b', 'c'].map(key => map.get(key)), [3, undefined, 4])
})
