/**
 * Checks left = amount − used − reserved − elsewhere in every set-up, against a reference that adds up all
 * calls for each decision: random reservations, ends, stored records and kills. An exact set-up must decide
 * like the reference; an approximate one states its error bound.
 */

import { fork } from 'node:child_process'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import t from 'tap'
import { processState } from '../../lib/async/process-name.ts'
import { limitAccountsOf } from '../../lib/limits/call-accounts.ts'
import { counterName } from '../../lib/limits/sum-keys.ts'
import {
  requestedOfSum,
  type LimitDecision,
  type RequestedAmounts
} from '../../lib/limits/reservation.ts'
import { LocalLimiter, readUsedFrom, type Limiter } from '../../lib/limits/limiter.ts'
import { RedisLimiter } from '../../lib/limits/redis-limiter.ts'
import { answerLimitMessages, WorkerLimiter } from '../../lib/limits/worker-limiter.ts'
import { isSqlite, type Database } from '../../lib/stores/database.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { isAbandoned } from '../../lib/usage/journal-name.ts'
import { randomFrom } from '../support/limits.ts'
import { connectTo, noRedis, startRedis, type TestRedis } from '../support/redis.ts'
import { rounds, shortRun } from '../support/rounds.ts'
import { storeTest, testPlace } from '../support/stores.ts'
import { settles, until } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import type { IpcChannel, WorkerChannel } from '../../lib/async/ipc.ts'
import type { Test } from 'tap'

/** A process that makes decisions. */
interface Node {
  readonly limiter: Limiter
  /** Resolves once what was settled here counts everywhere. */
  readonly settled: () => Promise<void>
  /** Ends it as `kill -9` does. Another one imports its records. */
  readonly kill: () => void
  /** Returns whether the node can reach the shared counters. Default: true. */
  readonly isUp?: () => boolean
}

interface SetUp {
  readonly nodes: number
  readonly start: (number: number) => Promise<Node>
  /** Makes the shared counters unavailable, losing all their data, and brings them back. */
  readonly outage?: {
    readonly begin: () => Promise<void>
    readonly end: () => Promise<void>
    /** True if each process has its share meanwhile. Default: all calls are refused. */
    readonly sharing?: boolean
  }
  /** Called once the records of a killed process are stored. */
  readonly onImported?: () => void | Promise<void>
  /** How far the clock of each node is ahead, in milliseconds. Default: 0. */
  readonly ahead?: readonly number[]
  /** True if a decision may miss reservations of other processes and usage that is not stored yet. */
  readonly knowsLate?: boolean
  /** True if usage may briefly count twice, and a node's reservations until its next decision. */
  readonly countsTwice?: boolean
  /** True if process ids show whether a process has exited: the nodes of this test share one. */
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
/** The nodes disagree about the week. */
const limitsOfAllTime = { budget: { usd: 2e-6, per: 'total' } } as const
const amount = 2000 // of the lower budget, which refuses first
const steps = 200
const mostOfCall = 120
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
    ahead,
    knowsLate = false,
    countsTwice = false,
    isNeverKilled = false
  }: SetUp
): Promise<void> {
  const random = randomFrom(seed)
  const keyId = `key-${keys++}`
  // Each kind in turn: a record counts by its key or by its list of parties.
  const kind = kinds[keys % kinds.length] ?? 'key'
  const chosen = ahead === undefined ? limits : limitsOfAllTime
  const accounts = limitAccountsOf([{ kind, id: keyId, limits: chosen }])
  const parties =
    kind === 'tag' || kind === 'end_user' || kind === 'model'
      ? JSON.stringify([counterName({ kind, id: keyId })])
      : null
  const nodes = await Promise.all(Array.from({ length: count }, async (_, number) => await start(number)))
  let open: OpenCall[] = []
  /** The reservations of each node at its last decision. */
  const shown = new Map<number, number>()
  let waiting: UsedRow[] = []
  let used = 0
  /** The amount that may be exceeded after outages. */
  let lost = 0
  const startedMs = Date.now()
  const atOf = (node: number): number => startedMs + (ahead?.[node] ?? 0)
  const store = async (rows: readonly UsedRow[]): Promise<void> => {
    if (rows.length === 0) return
    await database.insertUsage(
      rows.map(({ id, node, nanoUsd }, at) =>
        usageRowOf(at, { id, at_ms: atOf(node), key_id: keyId, parties, cost_nano_usd: nanoUsd })
      )
    )
  }
  const heldBy = (calls: readonly OpenCall[]): number => calls.reduce((sum, { held }) => sum + held, 0)
  const heldAt = (number: number): number => heldBy(open.filter(({ node }) => node === number))
  const unstored = (): number => waiting.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0)
  /** Asserts that the whole remainder can be reserved, and not a billionth more. */
  const probe = async (when: string): Promise<void> => {
    const left = amount - used - heldBy(open)
    const number = random(count)
    for (const [most, mayPass] of [
      [Math.max(left, 0) + 1, false],
      ...(left > 0 ? [[left, true] as const] : [])
    ] as const) {
      const decision = await nodes[number]?.limiter.reserve({ accounts, wanted: { nanoUsd: { max: most } } })
      if (decision?.admitted !== mayPass) {
        throw new Error(`${when}: ${most} of ${left} is ${JSON.stringify(decision)}`)
      }
      if (!decision.admitted) continue
      nodes[number]?.limiter.settle(decision.reservation, { used: {} })
      await nodes[number]?.settled()
    }
  }
  /** Ends one of the open calls: it counts whether or not its node can report it. */
  const endOne = (): OpenCall | undefined => {
    const [ended] = open.splice(random(open.length), 1)
    if (ended === undefined) return undefined
    const nanoUsd = random(Math.min(ended.held, 30) + 1)
    used += nanoUsd
    waiting.push({ node: ended.node, id: ended.rowId, nanoUsd })
    nodes[ended.node]?.limiter.settle(ended.reservation, {
      used: { nanoUsd },
      row: { id: ended.rowId, atMs: atOf(ended.node) }
    })
    return ended
  }
  /** Ends calls while the shared counters are unavailable. Their usage is stored before these are back. */
  const sitOut = async ({ begin, end }: NonNullable<SetUp['outage']>): Promise<void> => {
    await begin()
    await until(() => nodes.every(({ isUp }) => isUp?.() === false), 'all to notice the outage')
    await t.rejects(
      async () =>
        await nodes[random(count)]?.limiter.reserve({ accounts, wanted: { nanoUsd: { max: 1 } } }),
      { code: 'overloaded' }
    )
    for (let left = random(3); left > 0; left--) endOne()
    await store(waiting.splice(0))
    await end()
    await until(() => nodes.every(({ isUp }) => isUp?.() === true), 'all to be connected again', 20_000)
    await Promise.all(nodes.map(async ({ settled }) => await settled()))
  }
  let tried = 0
  /** Reserves and ends calls while each node has its share, and at the moments that begins and ends. */
  const share = async ({ begin, end }: NonNullable<SetUp['outage']>): Promise<void> => {
    const tryAt = async (node: number): Promise<void> => {
      const rowId = `BBBBBBBB${String(seed).padStart(4, '0')}-${(tried++).toString(36)}`
      const max = 1 + random(mostOfCall)
      const wanted = { nanoUsd: { max, min: 1 + random(max) } }
      const decision = await nodes[node]?.limiter.reserve({ accounts, wanted, rowId })
      if (decision?.admitted !== true) return
      open.push({ node, rowId, reservation: decision.reservation, held: decision.granted.nanoUsd ?? NaN })
    }
    const between = async (change: () => Promise<void>): Promise<void> => {
      await Promise.all([change(), ...nodes.map(async (_, node) => await tryAt(node))])
    }
    lost += count * mostOfCall // one call of each whose reply is lost
    await between(begin)
    await until(() => nodes.every(({ isUp }) => isUp?.() === false), 'all to notice the outage')
    const before = open.length
    for (let left = 20; left > 0; left--) {
      await tryAt(random(count))
      if (random(2) === 0) endOne()
      if (random(4) === 0) await store(waiting.splice(0, random(waiting.length + 1)))
      if (used + heldBy(open) > amount + lost) {
        throw new Error(`seed ${seed}, in an outage: ${used} used, ${heldBy(open)} held, ${lost} lost`)
      }
    }
    shared += Math.max(0, open.length - before)
    lost += count * mostOfCall + unstored()
    await between(end)
    await until(() => nodes.every(({ isUp }) => isUp?.() === true), 'all to be connected again', 20_000)
    await Promise.all(nodes.map(async ({ settled }) => await settled()))
    await store(waiting.splice(0))
  }
  let admitted = 0
  let outages = 0
  let shared = 0
  for (let step = 0; step < steps; step++) {
    const number = random(count)
    const node = nodes[number]
    if (node === undefined) throw new Error('no node')
    const max = 1 + random(mostOfCall)
    const wanted: RequestedAmounts = { nanoUsd: { max, min: 1 + random(max) } }
    const rowId = `AAAAAAAA${String(seed).padStart(4, '0')}-${step.toString(36)}`
    const left = amount - used - heldBy(open)
    const [account] = accounts
    const { min } = account?.counting === 'sum' ? requestedOfSum(account, wanted) : { min: NaN }
    const decision = await node.limiter.reserve({ accounts, wanted, rowId })
    const unseen = knowsLate ? heldBy(open.filter(call => call.node !== number)) + unstored() : 0
    const what = `seed ${seed}, step ${step}: ${JSON.stringify({ decision, left, min, unseen, used, unstored: unstored() })}`
    const mayPass = (room: number): boolean => room > 0 && min <= room
    if (decision.admitted && !mayPass(left + unseen)) throw new Error(`admitted, ${what}`)
    const shownLate = nodes.reduce(
      (sum, _, other) => sum + (other === number ? 0 : Math.max(0, (shown.get(other) ?? 0) - heldAt(other))),
      0
    )
    const mustPass = mayPass(countsTwice ? left - used - shownLate : left)
    if (!decision.admitted && mustPass) throw new Error(`refused, ${what}`)
    if (decision.admitted) {
      const held = decision.granted.nanoUsd ?? NaN
      if (!(held <= left + unseen)) throw new Error(`more than is left, ${what}`)
      open.push({ node: number, rowId, reservation: decision.reservation, held })
      admitted++
    }
    shown.set(number, heldAt(number))
    while (open.length > 0 && random(2) > 0) {
      const ended = endOne()
      if (ended === undefined) break
      await nodes[ended.node]?.settled()
    }
    if (random(4) === 0) await store(waiting.splice(0, random(waiting.length + 1)))
    if (!knowsLate && !countsTwice && random(8) === 0) await probe(`seed ${seed}, step ${step}`)
    if (outage !== undefined && step % 60 === 59) {
      await (outage.sharing === true ? share(outage) : sitOut(outage))
      outages++
      await probe(`seed ${seed}, after an outage at step ${step}`)
    }
    if (isNeverKilled || random(25) > 0) continue
    // One is killed, and another imports its records, of answered calls and of open ones.
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
    shown.delete(killed)
    used += cut.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0)
    const rows = [...waiting.filter(({ node }) => node === killed), ...cut]
    waiting = waiting.filter(({ node }) => node !== killed)
    const next = await start(killed)
    nodes[killed] = next
    await next.limiter.settleRecorded(
      rows.map(({ id, nanoUsd }) => ({ accounts, row: { id, atMs: atOf(killed) }, used: { nanoUsd } }))
    )
    await store(rows)
    await onImported?.()
    if (!knowsLate && !countsTwice) await probe(`seed ${seed}, after a kill at step ${step}`)
  }
  t.ok(admitted > steps / 5, `${admitted} of ${steps} admitted, ${used} used`)
  t.ok(used <= amount + lost || knowsLate, `${used} of ${amount}`)
  t.equal(outages, outage === undefined ? 0 : 3)
  for (const { reservation, node } of open) nodes[node]?.limiter.settle(reservation, { used: {} })
  await Promise.all(nodes.map(async node => await node.settled()))
  for (const { kill } of nodes) kill()
}

const nothing = async (): Promise<void> => undefined

/** The limiter of one process, or of each of several on one store. */
function local (t: Test, database: Database, ahead: readonly number[] = []): SetUp['start'] {
  return async number => {
    const limiter = new LocalLimiter({
      readUsed: readUsedFrom(database),
      now: () => Date.now() + (ahead[number] ?? 0),
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
  const limiter = new WorkerLimiter(end('worker', 'primary'))
  answerLimitMessages(end('primary', 'worker'), primary, name)
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 3; turn++) await immediate()
  }
  return { limiter, settled, kill: () => exited() }
}

async function redisNode (
  t: Test,
  redis: TestRedis,
  database: Database,
  without: 'refuse' | 'share' = 'refuse'
): Promise<Node> {
  // a slow machine must not fall back to local counting
  const server = await connectTo(t, redis.url, { timeoutMs: 5000 })
  const limiter = new RedisLimiter(server, {
    without: () => without,
    readUsed: readUsedFrom(database),
    rereadMs: 0,
    recordedAfterMs: 0, // records are stored before calls are settled
    onFailure: error => t.error(error)
  })
  t.teardown(() => limiter.close())
  return {
    limiter,
    settled: async () => {
      await immediate()
      await immediate()
      await server.scored('any', 0) // the reply comes after the outage
    },
    kill: () => {
      limiter.close()
      if (without === 'share') void server.close() // it has no share any more
    },
    isUp: () => server.isUp
  }
}

/** A gateway in its own process, on the store of a data directory that others share. */
async function gatewayProcess (t: Test, directory: string): Promise<Node> {
  const program = join(import.meta.dirname, '../support/limiter-process.js')
  const child = fork(program, [directory], { execArgv: [] })
  t.teardown(() => child.kill('SIGKILL'))
  let asked = 0
  const ask = async (message: object): Promise<unknown> => {
    const id = asked++
    const replied = new Promise<unknown>((resolve, reject) => {
      const hear = (reply: { readonly id: number, readonly result: unknown }): void => {
        if (reply.id !== id) return
        child.off('message', hear)
        resolve(reply.result)
      }
      child.on('message', hear)
      child.once('exit', () => reject(new Error('exited')))
    })
    child.send({ id, ...message })
    return await settles(replied, 'a reply of the gateway', 20_000)
  }
  const limiter: Limiter = {
    reserve: async wanted => await ask({ wanted }) as LimitDecision, // of `limiter-process`
    settle: (reservation, usage) => { child.send({ id: -1, reservation, usage }) },
    settleRecorded: nothing
  }
  // the others see it from its first call on
  const accounts = limitAccountsOf([{ kind: 'key', id: 'any', limits }])
  await limiter.reserve({ accounts, wanted: {}, purpose: 'describe' })
  return { limiter, settled: async () => { await ask({}) }, kill: () => child.kill('SIGKILL') }
}

const seeds = Array.from({ length: rounds(12) }, (_, place) => place + 1)
/** Seconds, and more than a day. */
const clocks = [[0, 5000], [0, 90_000_000], [-90_000_000, 3000]] as const

storeTest('one process counts its own calls and what the store has', async (t, open) => {
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
  "two gateways without Redis lag by each other's reservations and unstored usage",
  async (t, open) => {
    const database = await open()
    for (const seed of seeds) {
      await compare(t, database, seed, { nodes: 2, start: local(t, database), knowsLate: true })
    }
  }
)

t.test('two nodes with Redis count as one process on either store, also eight', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  for (const database of [await openDatabase(t.testdir()), await openDatabase(await testPlace(t))]) {
    t.teardown(database.close)
    const start = async (): Promise<Node> => await redisNode(t, redis, database)
    for (const seed of seeds.slice(0, 3)) await compare(t, database, seed, { nodes: 2, start })
    await compare(t, database, seeds.at(-1) ?? 1, { nodes: 8, start })
  }
})

t.test(
  'two nodes that repeatedly lose Redis and its data rebuild the counts from store and reservations',
  { skip: noRedis },
  async t => {
    const redis = await startRedis(t)
    const outage = { begin: redis.kill, end: redis.restart }
    for (const database of [await openDatabase(t.testdir()), await openDatabase(await testPlace(t))]) {
      t.teardown(database.close)
      for (const seed of seeds.slice(0, 3)) {
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
  'two gateways on one SQLite store never exceed a budget, and refuse early only by what counts twice',
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

t.test(
  'two gateways on one data directory exceed nothing even if one is repeatedly killed',
  { skip: shortRun },
  async t => {
    const dataDir = t.testdir()
    const database = await openDatabase(dataDir)
    t.teardown(database.close)
    for (const seed of seeds.slice(0, rounds(4))) {
      await compare(t, database, seed, {
        nodes: 2,
        countsTwice: true,
        start: async () => await gatewayProcess(t, dataDir),
        onImported: async () => {
          for (const name of readdirSync(dataDir)) if (isAbandoned(name)) rmSync(join(dataDir, name))
          await until(
            async () => (await database.query.selectFrom('gateways').select('id').execute())
              .every(({ id }) => processState(id) !== 'exited'),
            'the other one to notice it'
          )
        }
      })
    }
  }
)

storeTest("with different clocks, gateways still count each other's usage", async (t, open) => {
  const database = await open()
  for (const ahead of clocks) {
    for (const seed of seeds) {
      await compare(t, database, seed, {
        nodes: 2,
        ahead,
        knowsLate: true,
        start: local(t, database, ahead)
      })
    }
  }
})

t.test('the clocks of nodes with Redis may differ, even if it loses its data', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const database = await openDatabase(await testPlace(t))
  t.teardown(database.close)
  for (const [place, ahead] of clocks.entries()) {
    await compare(t, database, place, {
      nodes: 2,
      ahead,
      outage: { begin: redis.kill, end: redis.restart },
      start: async () => await redisNode(t, redis, database)
    })
  }
})

for (const [title, ...more] of [
  ['that loses its data'],
  ['that keeps its data', '--appendonly', 'yes', '--appendfsync', 'always']
] as const) {
  t.test(
    `while a Redis ${title} is down, local shares exceed a budget by at most the calls in flight`,
    { skip: noRedis },
    async t => {
      const database = await openDatabase(await testPlace(t))
      t.teardown(database.close)
      for (const seed of seeds.slice(0, 3)) {
        const redis = await startRedis(t, ...more)
        await compare(t, database, seed, {
          nodes: 2,
          outage: { begin: redis.kill, end: redis.restart, sharing: true },
          start: async () => await redisNode(t, redis, database, 'share')
        })
      }
    }
  )
}
