import t from 'tap'
import { parseDate } from '../../lib/cli/parse-date.ts'

const nowMs = Date.UTC(2025, 10, 21, 12)

t.test('durations count back or ahead from now', async t => {
  t.equal(parseDate('30d', nowMs, 'ahead'), nowMs + 30 * 86_400_000)
  t.equal(parseDate('12h', nowMs, 'ago'), nowMs - 12 * 3_600_000)
  t.equal(parseDate('0d', nowMs, 'ago'), nowMs)
})

t.test('dates are ISO 8601, with a time zone if they have a time', async t => {
  t.equal(parseDate('2026-01-02', nowMs, 'ago'), Date.UTC(2026, 0, 2))
  t.equal(parseDate('2026-01-02T03:04:05Z', nowMs, 'ahead'), Date.UTC(2026, 0, 2, 3, 4, 5))
  for (const text of ['soon', '30', '5m', '1234567d', '2026-02-30', '2026-01-02T03:04', '02.01.2026', '']) {
    t.ok(Number.isNaN(parseDate(text, nowMs, 'ago')), text)
  }
})
