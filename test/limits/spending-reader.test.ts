import t from 'tap'
import { limitAccountsOf } from '../../lib/limits/call-accounts.ts'
import { countersOf, sumsOf } from '../../lib/limits/sum-keys.ts'
import { endUserWaitMs } from '../../lib/limits/end-user-names.ts'
import { nothingReserved, type LimitDecision } from '../../lib/limits/reservation.ts'
import { SpendingReader, type SpendingReaderOptions } from '../../lib/limits/spending-reader.ts'

const budget = { usd: 1, per: 'day' } as const
const accounts = limitAccountsOf([
  { kind: 'key', id: 'key-1', limits: { budget } },
  { kind: 'end_user', id: 'p/ada', limits: { budget } }
])
const sums = sumsOf(countersOf(accounts, Date.UTC(2025, 10, 21)))
const admit = (): LimitDecision => ({ ...nothingReserved, used: [], rateLimits: {} })
const never = async (): Promise<number> => await new Promise(() => undefined)

/** A reader, and what it reports. */
function readerOf (options: Partial<SpendingReaderOptions>) {
  const read: Array<[party: string, used: number]> = []
  const failures: unknown[] = []
  const reader = new SpendingReader({
    onRead: ({ party }, used) => { read.push([party, used]) },
    onFailure: error => { failures.push(error) },
    rereadMs: 60_000,
    ...options
  })
  return { reader, read, failures }
}

t.test('concurrent calls share one read of each sum, and later ones need none', async t => {
  const { reader, read } = readerOf({ readUsed: async ({ party }) => party.length })
  const admitted = (): unknown => reader.afterReading(sums, { accounts }, admit)
  await Promise.all([admitted(), admitted()])
  t.strictSame(read, [['key-1', 5], ['end_user:p/ada', 14]])
  t.notOk(reader.afterReading(sums, { accounts }, admit) instanceof Promise)
  t.equal(read.length, 2)
  const [first] = sums
  if (first !== undefined) await reader.readAgain(first)
  t.equal(read.length, 3, 'unless it is to be read again')
})

t.test('if the store fails, decisions use what is known', async t => {
  const error = new Error('gone')
  const { reader, failures } = readerOf({ readUsed: async () => await Promise.reject(error) })
  const decision = await reader.afterReading(sums.slice(0, 1), { accounts, withoutStore: 'refuse' }, admit)
  t.strictSame(decision, admit())
  t.strictSame(failures, [error])
})

t.test('an end user whose spending is not known in time is refused, or admitted and marked', async t => {
  const { reader } = readerOf({
    readUsed: async sum => sum.party === 'key-1' ? 0 : await never()
  })
  const startedMs = performance.now()
  t.match(await reader.afterReading(sums, { accounts, withoutStore: 'refuse' }, admit), {
    admitted: false, reason: 'budget_unread', accountIndex: 1, waitMs: 1000
  })
  t.ok(performance.now() - startedMs > endUserWaitMs - 10)
  t.match(await reader.afterReading(sums, { accounts, withoutStore: 'allow' }, admit), {
    admitted: true, isUnread: true
  })
})

t.test('a sum is known once it has been read, even if other readings began meanwhile', async t => {
  const waiting: Array<(used: number) => void> = []
  const { reader } = readerOf({
    rereadMs: 0,
    readUsed: async () => await new Promise<number>(resolve => { waiting.push(resolve) })
  })
  const ask = async (): Promise<LimitDecision> =>
    await reader.afterReading(sums.slice(1), { accounts, withoutStore: 'refuse' }, admit)
  t.match(await ask(), { admitted: false, reason: 'budget_unread' })
  const [second, first] = [ask(), waiting[0]]
  first?.(5)
  t.match(await second, { admitted: true }, 'the first reading has ended')
  t.match(await ask(), { admitted: true })
  t.equal(waiting.length, 3, 'the last two are in progress')
})

t.test('an unreadable sum is refused by its account, even after its window has ended', async t => {
  const { reader } = readerOf({ readUsed: async () => await Promise.reject(new Error('gone')) })
  const ended = sumsOf(countersOf(accounts, Date.UTC(2025, 10, 20)))
  t.match(await reader.afterReading(ended, { accounts, withoutStore: 'refuse' }, admit), {
    admitted: false, accountIndex: 1
  })
})
