import t from 'tap'
import { UnrecordedSpending, type FindRecorded } from '../../lib/limits/unrecorded-spending.ts'
import { ticksDuring } from '../support/ticks-during.ts'
import type { UsageRowKey } from '../../lib/limits/reservation.ts'
import type { HeldSum } from '../../lib/limits/sum-keys.ts'

const day = 86_400_000

function sumOf (party: string, fromMs: number): HeldSum {
  return { party, unit: 'nanoUsd', fromMs }
}

/** Adds calls that ended one millisecond apart, starting at 0. */
function add (spending: UnrecordedSpending, count: number, keyId = 'key-1', fromMs = day): UsageRowKey[] {
  return Array.from({ length: count }, (_, number) => {
    const row = { id: `${keyId}-${fromMs / day}-${number}`, atMs: number }
    spending.add({ party: keyId, unit: 'nanoUsd', fromMs, amount: 10 }, row, number)
    return row
  })
}

/** A store that has the rows for which `isRecorded` is true, and counts its searches. */
function store (isRecorded: (row: UsageRowKey) => boolean): {
  readonly find: FindRecorded
  readonly searches: Array<readonly UsageRowKey[]>
} {
  const searches: Array<readonly UsageRowKey[]> = []
  return {
    searches,
    find: async rows => {
      searches.push(rows)
      return new Set(rows.filter(isRecorded).map(({ id }) => id))
    }
  }
}

t.test('spending is added up by key and period until it is recorded', async t => {
  const spending = new UnrecordedSpending()
  add(spending, 3)
  add(spending, 2, 'key-1', 2 * day)
  add(spending, 1, 'key-2')
  t.same(
    [
      spending.of(sumOf('key-1', day)),
      spending.of(sumOf('key-1', 2 * day)),
      spending.of(sumOf('key-2', day)),
      spending.of(sumOf('key-3', day))
    ],
    [30, 20, 10, 0]
  )
  await spending.forgetRecorded(2, store(({ id }) => id === 'key-1-1-0').find)
  t.same(
    [...spending.sums()].map(({ party, fromMs, amount }) => [party, fromMs, amount]),
    [
      ['key-1', day, 20],
      ['key-1', 2 * day, 20],
      ['key-2', day, 10]
    ]
  )
  await spending.forgetRecorded(9, store(() => true).find)
  t.same([...spending.sums()], [], 'and nothing is left of them then')
})

t.test('thousands of calls are forgotten in batches, with other work in between', async t => {
  const spending = new UnrecordedSpending()
  add(spending, 20_000)
  const { find, searches } = store(() => true)
  const turns = await ticksDuring(async () => await spending.forgetRecorded(19_999, find))
  t.equal(spending.of(sumOf('key-1', day)), 10, 'the last one has only just ended')
  t.equal(searches.length, 40)
  t.ok(searches.every(rows => rows.length <= 500))
  t.ok(turns >= 39, `${turns} turns`)
})

t.test('unrecorded calls keep counting and do not keep others from being checked', async t => {
  const spending = new UnrecordedSpending()
  add(spending, 2000)
  const behind = store(() => false)
  await spending.forgetRecorded(2000, behind.find)
  t.equal(behind.searches.length, 1, 'the store is behind')
  t.equal(spending.of(sumOf('key-1', day)), 20_000)
  const { find, searches } = store(({ atMs }) => atMs >= 500)
  await spending.forgetRecorded(2000, find)
  t.equal(spending.of(sumOf('key-1', day)), 5000)
  t.equal(searches[0]?.[0]?.atMs, 500, 'those that were not looked for come first')
  t.equal(searches.flat().length, 2000, 'each once')
})

t.test(
  'after a store failure everything still counts, and unrecorded calls count only until they are due',
  async t => {
    const spending = new UnrecordedSpending()
    add(spending, 10)
    spending.add({ party: 'key-2', unit: 'nanoUsd', fromMs: day, amount: 5 }, undefined, 10)
    await t.rejects(
      spending.forgetRecorded(20, async () => await Promise.reject(new Error('locked'))),
      /locked/
    )
    t.same([spending.of(sumOf('key-1', day)), spending.of(sumOf('key-2', day))], [100, 5])
    await spending.forgetRecorded(20, store(({ atMs }) => atMs < 4).find)
    t.same([spending.of(sumOf('key-1', day)), spending.of(sumOf('key-2', day))], [60, 0])
  }
)

t.test('a second search does not begin while one runs', async t => {
  const spending = new UnrecordedSpending()
  add(spending, 10)
  const { find, searches } = store(() => true)
  await Promise.all([spending.forgetRecorded(20, find), spending.forgetRecorded(20, find)])
  t.equal(searches.length, 1)
  t.equal(spending.of(sumOf('key-1', day)), 0)
})
