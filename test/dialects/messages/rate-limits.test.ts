import t from 'tap'
import { rateLimitHeaders } from '../../../lib/dialects/messages/rate-limits.ts'

t.test("rate limits have Anthropic's header names, with reset times instead of durations", async t => {
  const now = Date.parse('2026-01-01T00:00:00.000Z')
  t.strictSame(
    rateLimitHeaders(
      {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '20ms',
        'x-ratelimit-reset-tokens': '6m1.5s',
        'x-other': '1'
      },
      now
    ),
    {
      'anthropic-ratelimit-requests-limit': '60',
      'anthropic-ratelimit-requests-remaining': '59',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:01Z',
      'anthropic-ratelimit-tokens-reset': '2026-01-01T00:06:02Z'
    }
  )
  t.strictSame(rateLimitHeaders({ 'x-ratelimit-reset-tokens': '2s' }, now), {
    'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:02Z'
  })
  t.strictSame(rateLimitHeaders(undefined), {})
})
