/**
 * left = amount − used − reserved − elsewhere, in every set-up, against a reference that adds up all calls
 * for each question: random reservations, ends, stored records and kills. What is exact must decide as the
 * reference does; what is bounded says by how much.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { accountsOf, partyName } from '../../lib/limits/call-accounts.ts'
import { boundsOf, type ReservationRequest } from '../../lib/limits/counters.ts'
import { LocalLimiter, readUsedFrom, type Limiter } from '../../lib/limits/limiter.ts'
import { RedisLimiter } from '../../lib/limits/redis-limiter.ts'
import { answerLimitMessages, workerLimiter } from '../../lib/limits/shared-limiter.ts'
import { isSqlite, type Database } from '../../lib/stores/database.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { randomFrom } from '../support/limits.ts'
import { connectTo, noRedis, startRedis, type TestRedis } from '../support/redis.ts'
import { storeTest, testPlace } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import type { IpcChannel, WorkerChannel } from '../../lib/async/ipc.ts'
import type { Test } from 'tap'

/** A process that decides on calls. */
interface Node {
  readonly limiter: Limiter
  /** Resolves once what was settled here counts everywhere. */
  readonly settled: () => Promise<void>
  /** Ends it as `kill -9` does. Another one imports its records. */
  readonly kill: () => void
  /** Returns whether it reaches what counts for all. Default: it does. */
  readonly isUp?: () => boolean
}

interface SetUp {
  readonly nodes: number
  readonly start: (number: number) => Promise<Node>
  /** Takes away what counts for all, with all that it has counted, and brings it back. */
  readonly outage?: { readonly begin: () => Promise<void>, readonly end: () => Promise<void> }
  /** Called once the records of a process that was killed are stored. */
  readonly onImported?: () => void
  /**
   * True where a decision may know less than all: of what other processes hold, and of what is used and not
   * stored yet.
   */
  readonly knowsLate?: boolean
  /** True where what is used may count twice for a moment, and what was reserved for a moment longer. */
  readonly countsTwice?: boolean
  /** True where whether a process has exited is seen by its id: the nodes of this test share one. */
  readonly isNeverKilled?: boolean
}

interface OpenCall {
  readonly node: number
  readonly rowId: string
  readonly reservation: number
  readonly held: number
}

interface UsedRow {
  readonly node: number
  readonly id: string
  readonly nanoUsd: number
}

const limits = {
  budgets: [
    { usd: 3e-6, per: 'total' },
    { usd: 2e-6, per: 'week' }
  ]
} as const
const amount = 2000 // of the lower one, which refuses first
const steps = 200
/** What one gateway on a store shows of calls that have just ended: four of them. */
const shownLate = 480
let keys = 0
const kinds = ['key', 'end_user', 'member', 'tag', 'model', 'project'] as const

/** Makes random calls at random nodes until most of the budget is used. */
async function compare (
  t: Test,
  database: Database,
  seed: number,
  {
    nodes: count,
    start,
    outage,
    onImported,
    knowsLate = false,
    countsTwice = false,
    isNeverKilled = false
  }: SetUp
): Promise<void> {
  const random = randomFrom(seed)
  const keyId = `key-${keys++}`
  // Of every kind in turn: what a record counts in is said by its key or by its list of parties.
  const kind = kinds[keys % kinds.length] ?? 'key'
  const accounts = accountsOf([{ kind, id: keyId, limits }])
  const parties =
    kind === 'tag' || kind === 'end_user' || kind === 'model'
      ? JSON.stringify([partyName({ party: kind, partyId: keyId })])
      : null
  const nodes = await Promise.all(Array.from({ length: count }, async (_, number) => await start(number)))
  let open: OpenCall[] = []
  let waiting: UsedRow[] = []
  let used = 0
  const atMs = Date.now()
  const store = async (rows: readonly UsedRow[]): Promise<void> => {
    if (rows.length === 0) return
    await database.insertUsage(
      rows.map(({ id, nanoUsd }, at) =>
        usageRowOf(at, { id, at_ms: atMs, key_id: keyId, parties, cost_nano_usd: nanoUsd })
      )
    )
  }
  const heldBy = (calls: readonly OpenCall[]): number => calls.reduce((sum, { held }) => sum + held, 0)
  const unstored = (): number => waiting.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0)
  /** Asserts that all that is left can be reserved, and not one billionth more. */
  const probe = async (when: string): Promise<void> => {
    const left = amount - used - heldBy(open)
    const number = random(count)
    for (const [most, mayPass] of [
      [left + 1, false],
      ...(left > 0 ? [[left, true] as const] : [])
    ] as const) {
      const decision = await nodes[number]?.limiter.reserve({ accounts, wanted: { nanoUsd: { most } } })
      if (decision?.admitted !== mayPass) {
        throw new Error(`${when}: ${most} of ${left} is ${JSON.stringify(decision)}`)
      }
      if (!decision.admitted) continue
      nodes[number]?.limiter.settle(decision.reservation, { used: {} })
      await nodes[number]?.settled()
    }
  }
  /** Ends one of the open calls: it counts, whether or not its node can say so. */
  const endOne = (): OpenCall | undefined => {
    const [ended] = open.splice(random(open.length), 1)
    if (ended === undefined) return undefined
    const nanoUsd = random(Math.min(ended.held, 30) + 1)
    used += nanoUsd
    waiting.push({ node: ended.node, id: ended.rowId, nanoUsd })
    nodes[ended.node]?.limiter.settle(ended.reservation, {
      used: { nanoUsd },
      row: { id: ended.rowId, atMs }
    })
    return ended
  }
  /** Ends calls while nothing counts for all. What was used is in the store before it is back. */
  const sitOut = async ({ begin, end }: NonNullable<SetUp['outage']>): Promise<void> => {
    await begin()
    await until(() => nodes.every(({ isUp }) => isUp?.() === false), 'all to notice the outage')
    await t.rejects(
      async () =>
        await nodes[random(count)]?.limiter.reserve({ accounts, wanted: { nanoUsd: { most: 1 } } }),
      { code: 'overloaded' }
    )
    for (let left = random(3); left > 0; left--) endOne()
    await store(waiting.splice(0))
    await end()
    await until(() => nodes.every(({ isUp }) => isUp?.() === true), 'all to be connected again', 20_000)
    await Promise.all(nodes.map(async ({ settled }) => await settled()))
  }
  let admitted = 0
  let outages = 0
  for (let step = 0; step < steps; step++) {
    const number = random(count)
    const node = nodes[number]
    if (node === undefined) throw new Error('no node')
    const most = 1 + random(120)
    const wanted: ReservationRequest['wanted'] = { nanoUsd: { most, least: 1 + random(most) } }
    const rowId = `AAAAAAAA${String(seed).padStart(4, '0')}-${step.toString(36)}`
    const left = amount - used - heldBy(open)
    const [account] = accounts
    const { least } = account?.counting === 'sum' ? boundsOf(account, wanted) : { least: NaN }
    const decision = await node.limiter.reserve({ accounts, wanted, rowId })
    const unseen = knowsLate ? heldBy(open.filter(call => call.node !== number)) + unstored() : 0
    const what = `seed ${seed}, step ${step}: ${JSON.stringify({ decision, left, least, unseen, used, unstored: unstored() })}`
    const mayPass = (room: number): boolean => room > 0 && least <= room
    if (decision.admitted && !mayPass(left + unseen)) throw new Error(`admitted, ${what}`)
    const mustPass = mayPass(countsTwice ? left - used - shownLate : left)
    if (!decision.admitted && mustPass) throw new Error(`refused, ${what}`)
    if (decision.admitted) {
      const held = decision.granted.nanoUsd ?? NaN
      if (!(held <= left + unseen)) throw new Error(`more than is left, ${what}`)
      open.push({ node: number, rowId, reservation: decision.reservation, held })
      admitted++
    }
    while (open.length > 0 && random(2) > 0) {
      const ended = endOne()
      if (ended === undefined) break
      await nodes[ended.node]?.settled()
    }
    if (random(4) === 0) await store(waiting.splice(0, random(waiting.length + 1)))
    if (!knowsLate && !countsTwice && random(8) === 0) await probe(`seed ${seed}, step ${step}`)
    if (outage !== undefined && step % 60 === 59) {
      await sitOut(outage)
      outages++
      await probe(`seed ${seed}, after an outage at step ${step}`)
    }
    if (isNeverKilled || random(25) > 0) continue
    // One is killed, and another imports its records: of calls that it had answered, and of those that were
    // open.
    const killed = random(count)
    nodes[killed]?.kill()
    const cut = open
      .filter(call => call.node === killed)
      .map(({ rowId: id, held }): UsedRow => ({
        node: killed,
        id,
        nanoUsd: random(2) === 0 ? held : random(held + 1)
      }))
    open = open.filter(call => call.node !== killed)
    used += cut.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0)
    const rows = [...waiting.filter(({ node }) => node === killed), ...cut]
    waiting = waiting.filter(({ node }) => node !== killed)
    const next = await start(killed)
    nodes[killed] = next
    await next.limiter.settleRecorded(
      rows.map(({ id, nanoUsd }) => ({ accounts, row: { id, atMs }, used: { nanoUsd } }))
    )
    await store(rows)
    onImported?.()
    if (!knowsLate) await probe(`seed ${seed}, after a kill at step ${step}`)
  }
  t.ok(admitted > steps / 5, `${admitted} of ${steps} admitted, ${used} used`)
  t.ok(used <= amount || knowsLate, `${used} of ${amount}`)
  t.equal(outages, outage === undefined ? 0 : 3)
  for (const { reservation, node } of open) nodes[node]?.limiter.settle(reservation, { used: {} })
  await Promise.all(nodes.map(async node => await node.settled()))
  for (const { kill } of nodes) kill()
}

const nothing = async (): Promise<void> => undefined

/** The limiter of one process, or of each of several on one store. */
function local (t: Test, database: Database): (number: number) => Promise<Node> {
  return async () => {
    const limiter = new LocalLimiter({
      readUsed: readUsedFrom(database),
      rereadMs: 0,
      onFailure: error => t.error(error)
    })
    return { limiter, settled: nothing, kill: () => limiter.close() }
  }
}

/** A worker that is connected to a primary within this process. */
function workerOf (primary: LocalLimiter, name: string): Node {
  const listeners: Record<'worker' | 'primary', Array<(message: unknown) => void>> = {
    worker: [],
    primary: []
  }
  let exited: () => void = () => undefined
  const end = (
    own: 'worker' | 'primary',
    other: 'worker' | 'primary'
  ): IpcChannel<unknown> & WorkerChannel<unknown> => ({
    on: (event: string, listener: (message?: unknown) => void) => {
      if (event === 'message') listeners[own].push(listener)
      if (event === 'exit') exited = () => listener()
    },
    send: message => {
      const copy: unknown = JSON.parse(JSON.stringify(message))
      setImmediate(() => {
        for (const listener of listeners[other]) listener(copy)
      })
    }
  })
  const limiter = workerLimiter(end('worker', 'primary'))
  answerLimitMessages(end('primary', 'worker'), primary, name)
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) await nextTurn()
  }
  return { limiter, settled, kill: () => exited() }
}

async function redisNode (t: Test, redis: TestRedis, database: Database): Promise<Node> {
  // a slow machine is no reason to count alone
  const server = await connectTo(t, redis.url, { timeoutMs: 5000 })
  const limiter = new RedisLimiter(server, {
    without: () => 'refuse',
    readUsed: readUsedFrom(database),
    rereadMs: 0,
    onFailure: error => t.error(error)
  })
  t.teardown(() => limiter.close())
  return {
    limiter,
    settled: async () => {
      await nextTurn()
      await nextTurn()
      await server.scored('any', 0) // comes after it
    },
    kill: () => limiter.close(),
    isUp: () => server.isUp
  }
}

const seeds = [1, 2, 3]

storeTest('one process counts what its calls and the store say', async (t, open) => {
  const database = await open()
  for (const seed of seeds) await compare(t, database, seed, { nodes: 1, start: local(t, database) })
})

storeTest('four workers count as one process', async (t, open) => {
  const database = await open()
  for (const seed of seeds) {
    let isUnrecorded = false
    const primary = new LocalLimiter({
      readUsed: readUsedFrom(database),
      rereadMs: 0,
      hasUnrecorded: () => isUnrecorded,
      onFailure: error => t.error(error)
    })
    let started = 0
    await compare(t, database, seed, {
      nodes: 4,
      start: async () => {
        const { kill, ...node } = workerOf(primary, `worker-${started++}`)
        return {
          ...node,
          kill: () => {
            isUnrecorded = true
            kill()
          }
        }
      },
      onImported: () => {
        isUnrecorded = false
      }
    })
    primary.close()
  }
})

storeTest(
  'two gateways without Redis may be late by what the other holds and what is not stored yet',
  async (t, open) => {
    const database = await open()
    for (const seed of seeds) {
      await compare(t, database, seed, { nodes: 2, start: local(t, database), knowsLate: true })
    }
  }
)

t.test('two nodes with Redis count as one process, on either store', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  for (const database of [await openDatabase(t.testdir()), await openDatabase(await testPlace(t))]) {
    t.teardown(database.close)
    for (const seed of seeds) {
      await compare(t, database, seed, { nodes: 2, start: async () => await redisNode(t, redis, database) })
    }
  }
})

t.test(
  'two nodes whose Redis is lost with all its data, again and again, count on by the store and by what they hold',
  { skip: noRedis },
  async t => {
    const redis = await startRedis(t)
    const outage = { begin: redis.kill, end: redis.restart }
    for (const database of [await openDatabase(t.testdir()), await openDatabase(await testPlace(t))]) {
      t.teardown(database.close)
      for (const seed of seeds) {
        await compare(t, database, seed, {
          nodes: 2,
          outage,
          start: async () => await redisNode(t, redis, database)
        })
      }
    }
  }
)

t.test(
  'two gateways on one SQLite store exceed nothing, and refuse while money is left only by what may count twice',
  async t => {
    const database = await openDatabase(t.testdir())
    t.teardown(database.close)
    if (!isSqlite(database)) throw new Error('another store')
    for (const seed of seeds) {
      await compare(t, database, seed, {
        nodes: 2,
        isNeverKilled: true,
        countsTwice: true,
        start: async () => {
          const limiter = new LocalLimiter({
            readUsed: readUsedFrom(database),
            rereadMs: 0,
            shared: database,
            beatMs: 20,
            onFailure: error => t.error(error)
          })
          return { limiter, settled: nothing, kill: () => limiter.close() }
        }
      })
    }
  }
)
