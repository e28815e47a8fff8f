import t from 'tap'
import { weightedKey } from '../../lib/models/weighted-key.ts'

t.test('the target with the lowest hash wins in proportion to its weight', async t => {
  let seed = 1
  const random = (): number => (seed = seed * 16807 % 2147483647) / 2147483647
  let wins = 0
  for (let draw = 0; draw < 4000; draw++) if (weightedKey(3, random()) < weightedKey(1, random())) wins++
  t.ok(Math.abs(wins - 3000) < 120, `${wins} of 4000`)
  t.equal(weightedKey(0, 0), Infinity, 'weight 0 comes last, whatever the hash')
})
