import t from 'tap'
import { dayMs, dayOf, dayText } from '../../lib/core/day.ts'

t.test('a day is a UTC day, from its first millisecond to its last', async t => {
  const first = Date.UTC(2025, 10, 21)
  t.same([first, first + 1, first + dayMs - 1, first + dayMs].map(dayOf), [
    first,
    first,
    first,
    first + dayMs
  ])
  t.same([dayText(first), dayText(first + dayMs - 1)], ['2025-11-21', '2025-11-21'])
})
