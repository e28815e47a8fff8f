import t from 'tap'
import { clampSeconds, rateLimitsIn, retryAfterSeconds } from '../../lib/providers/retry-after.ts'

const nowMs = Date.UTC(2025, 10, 21)

t.test(
  'a wait is given in milliseconds, seconds or a date, and lasts from one second to a minute',
  async t => {
    const rows: Array<[Record<string, string | string[]>, number | undefined]> = [
      [{}, undefined],
      [{ 'retry-after': '7' }, 7],
      [{ 'retry-after': '0' }, 1],
      [{ 'retry-after': '0.2' }, 1],
      [{ 'retry-after': '3600' }, 60],
      [{ 'retry-after': '-1' }, undefined],
      [{ 'retry-after': '' }, undefined],
      [{ 'retry-after': 'soon' }, undefined],
      [{ 'retry-after': new Date(nowMs + 9_500).toUTCString() }, 9],
      [{ 'retry-after': new Date(nowMs - 9_000).toUTCString() }, 1],
      [{ 'retry-after-ms': '2500', 'retry-after': '50' }, 3],
      [{ 'retry-after-ms': 'x', 'retry-after': '5' }, 5],
      [{ 'retry-after': ['4', '5'] }, 4]
    ]
    for (const [headers, seconds] of rows) {
      t.equal(retryAfterSeconds(headers, nowMs), seconds, JSON.stringify(headers))
    }
    for (const clockMs of [nowMs + 3_600_000, nowMs - 3_600_000]) {
      const headers = {
        'date': new Date(clockMs).toUTCString(),
        'retry-after': new Date(clockMs + 9_000).toUTCString()
      }
      t.equal(retryAfterSeconds(headers, nowMs), 9, 'a clock that is an hour off')
    }
    t.same([0, 1.1, 59.5, 1e9].map(clampSeconds), [1, 2, 60, 60])
  }
)

t.test('limits are passed on under the names that clients read, and nothing else is', async t => {
  t.strictSame(
    rateLimitsIn({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-reset-tokens': ['1m0.5s'],
      'x-ratelimit-remaining-images': '1',
      'x-ratelimit-limit-tokens': 'a b',
      'x-ratelimit-remaining-requests': 'sk-secret-0123456789',
      'x-other': '1',
      'x-ratelimit-remaining-tokens': ''
    }),
    { 'x-ratelimit-limit-requests': '60', 'x-ratelimit-reset-tokens': '1m0.5s' }
  )
})
