import t from 'tap'
import { limitAccountsOf } from '../../lib/limits/call-accounts.ts'
import { refusalError } from '../../lib/limits/refusal-error.ts'
import { refusals } from '../../lib/limits/limit-table.ts'
import type { PartyLimits } from '../../lib/core/key.ts'
import type { AccountRefusal } from '../../lib/limits/reservation.ts'

function refuse (limits: PartyLimits, refusal: Omit<AccountRefusal, 'accountIndex'>) {
  const accounts = limitAccountsOf([{ kind: 'key', id: 'key-1', limits }])
  return refusalError({ accountIndex: 0, ...refusal }, accounts)
}

t.test('a limit of one is in the singular', t => {
  const note = ' Retries and further tool turns of a call count too.'
  for (const [limits, reason, message] of [
    [{ imagesPerDay: 1 }, 'images', 'This API key allows 1 image per day, in UTC.'],
    [{ imagesPerDay: 2 }, 'images', 'This API key allows 2 images per day, in UTC.'],
    [{ tokensPerMinute: 1 }, 'tokens', 'This API key allows 1 token per minute.'],
    [{ concurrentCalls: 1 }, 'concurrent_calls', 'This API key allows 1 concurrent call.'],
    [{ concurrentCalls: 3 }, 'concurrent_calls', 'This API key allows 3 concurrent calls.'],
    [{ requestsPerMinute: 1 }, 'requests', `This API key allows 1 request to a provider per minute.${note}`]
  ] as const) {
    t.ok(refusals.includes(reason), reason)
    t.match(refuse(limits, { reason, waitMs: 6000 }), {
      code: 'rate_limit_exceeded', message, retryAfterSeconds: 6
    })
  }
  t.end()
})

t.test('an exhausted budget says when to retry only if its window ends soon', t => {
  const limits: PartyLimits = { budget: { usd: 5, per: 'day' } }
  for (const [leftMs, retryAfterSeconds] of [[20_000, 20], [3_600_000, undefined]] as const) {
    const failure = refuse(limits, { reason: 'budget', waitMs: 0, endMs: Date.now() + leftMs })
    const { code, message, retryAfterSeconds: found } = failure
    t.equal(failure.headers()['retry-after'], found === undefined ? undefined : String(found))
    t.equal(code, 'insufficient_quota')
    t.match(message, /^The budget of this API key \(.+\) is exhausted\.$/)
    if (retryAfterSeconds === undefined) t.equal(found, undefined)
    else t.ok(found !== undefined && Math.abs(found - retryAfterSeconds) <= 1, `${found} seconds`)
  }
  t.end()
})
