import t from 'tap'
import { PrunedMap } from '../../lib/async/pruned-map.ts'

t.test('once the map has grown, obsolete entries are removed and others stay', async t => {
  const looked: number[] = []
  const map = new PrunedMap<number>(value => { looked.push(value); return value % 10 !== 0 })
  for (let number = 0; number < 100_000; number++) map.set(String(number), number)
  t.equal(map.get('0'), 0)
  t.equal([...map].filter(([, value]) => value % 10 === 0).length, 10_000)
  t.ok(map.size < 21_000, `${map.size} entries`)
  t.ok(looked.length < 300_000, `${looked.length} looks: a few for each entry`)
})

t.test('a small map is not pruned', async t => {
  const map = new PrunedMap<number>(() => true)
  for (let number = 0; number < 1000; number++) map.set(String(number), number)
  t.equal(map.size, 1000)
})
