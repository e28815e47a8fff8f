import t from 'tap'
import { perUnitOf } from '../../schemas/billed-units.ts'
import { limitAccountsOf } from '../../lib/limits/call-accounts.ts'
import { LimitShare, type LimitShareOptions } from '../../lib/limits/limit-share.ts'
import { limitFields } from '../../lib/limits/limit-table.ts'
import { reasonOf, requestOf, usageOf, type KeyCall } from '../support/limits.ts'

const wanted: KeyCall = {
  keyId: 'key-1',
  limits: { budget: { usd: 1e-6, per: 'total' } },
  tokens: 0,
  nanoUsd: 100
}

function shareOf (parts: Partial<LimitShareOptions> = {}): LimitShare {
  return new LimitShare({
    processes: 4,
    usageOf: () => ({ used: 200, reserved: 0 }),
    onFailure: () => undefined,
    now: Date.now,
    ...parts
  })
}

/**
 * Reserves until a limit refuses.
 * @returns the number of reservations and the limit that refused
 */
async function exhaust (share: LimitShare, request: KeyCall): Promise<[count: number, reason: string]> {
  for (let count = 0; ; count++) {
    const decision = await share.reserve(requestOf(request))
    if (!decision.admitted) return [count, reasonOf(decision)]
  }
}

t.test('a process may spend its share of the remaining budget', async t => {
  t.same(await exhaust(shareOf(), wanted), [2, 'budget_reserved'])
  t.same(
    await exhaust(shareOf({ readUsed: async () => 600 }), wanted),
    [1, 'budget_reserved'],
    'of what the usage records say'
  )
  t.same(
    await exhaust(shareOf({ usageOf: () => ({ used: 0, reserved: 50 }) }), wanted),
    [2, 'budget_reserved'],
    'less what its open calls hold'
  )
})

t.test('spent amounts of a process do not come back', async t => {
  const share = shareOf()
  const decision = await share.reserve(requestOf(wanted))
  if (decision.admitted) share.settle(decision.reservation, usageOf({ tokens: 0, nanoUsd: 150 }))
  t.same(await exhaust(share, { ...wanted, nanoUsd: 25 }), [2, 'budget_reserved'])
})

t.test('other limits are divided, and each process gets at least one', async t => {
  t.same(await exhaust(shareOf(), { ...wanted, limits: { concurrentCalls: 9 } }), [2, 'concurrent_calls'])
  t.same(await exhaust(shareOf(), { ...wanted, limits: { requestsPerMinute: 3 } }), [1, 'requests'])
  t.same(await exhaust(shareOf(), { ...wanted, limits: { tokensPerMinute: 42 }, tokens: 5 }), [2, 'tokens'])
})

t.test('each limit of the table has a share', async t => {
  for (const { name, property, row: { unit, refusal } } of limitFields) {
    const accounts = limitAccountsOf([{ kind: 'key', id: name, limits: { [property]: 8 } }])
    const share = shareOf({ usageOf: () => ({ used: 0, reserved: 0 }) })
    const decisions = []
    for (let call = 0; call < 3; call++) {
      decisions.push(await share.reserve({ accounts, wanted: { [unit]: { max: perUnitOf(unit) } } }))
    }
    t.match(decisions, [
      { admitted: true }, { admitted: true }, { admitted: false, reason: new RegExp(`^${refusal}`) }
    ], name)
  }
})

t.test("an end user's unknown spending is waited for at most 250 ms", async t => {
  const share = shareOf({ readUsed: async () => await new Promise(() => undefined) })
  const request = requestOf({ ...wanted, keyId: 'p/x' }, 'end_user')
  t.match(await share.reserve({ ...request, withoutStore: 'refuse' }), {
    admitted: false,
    reason: 'budget_unread',
    accountIndex: 0
  })
  t.match(await share.reserve({ ...request, withoutStore: 'allow' }), { admitted: true, isUnread: true })
})
