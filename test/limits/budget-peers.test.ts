/** Gateways on one store, each with its own connections, as separate processes would have. */

import { spawn } from 'node:child_process'
import t, { type Test } from 'tap'
import { LocalLimiter, readUsedFrom } from '../../lib/limits/limiter.ts'
import { processName, processStartMs } from '../../lib/async/process-name.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { insertUsage } from '../../lib/stores/sqlite/insert-usage.ts'
import { outlast, settles, until } from '../support/until.ts'
import { usageRowOf } from '../support/usage.ts'
import type { SharedStore } from '../../lib/limits/budget-peers.ts'
import type { Database } from '../../lib/stores/database.ts'
import { KeyLocalLimiter, type KeyCall } from '../support/limits.ts'

// of 1,000 billionths
const wanted: KeyCall = {
  keyId: 'key-1',
  limits: { budget: { usd: 1e-6, per: 'day' } },
  tokens: 0,
  nanoUsd: 100
}

interface Peer {
  readonly limiter: KeyLocalLimiter
  /**
   * Reserves 100 and leaves the call open.
   * @returns the reservation, or `undefined` if it was refused
   */
  readonly reserve: () => Promise<number | undefined>
  /** Ends a call, which is recorded later. */
  readonly settle: (reservation: number, nanoUsd: number) => () => void
  readonly failures: unknown[]
  readonly looks: Looks
}

/** Counts the gateway's reads of the store. */
interface Looks {
  /** Reads of other gateways' heartbeats since it joined. */
  others: number
  /** Reads of batches of usage records that may be stored. */
  records: number
}

/** Counts reads without a clock. */
function watched ({ query, write }: SharedStore): { readonly shared: SharedStore, readonly looks: Looks } {
  const looks: Looks = { others: 0, records: 0 }
  return {
    looks,
    shared: {
      get query () {
        looks.records++
        return query
      },
      write: work =>
        write(prepare =>
          work(sql => {
            if (sql.includes('seen_ms > ?')) looks.others++
            return prepare(sql)
          })
        )
    }
  }
}

interface PeerOptions {
  readonly beatMs?: number
  readonly now?: () => number
  readonly hasUnrecorded?: () => boolean
}

async function peer (
  t: Test,
  directory: string,
  name: string,
  { beatMs = 200, now = Date.now, hasUnrecorded }: PeerOptions = {}
): Promise<Peer> {
  const database = await openDatabase(directory, { busyTimeoutMs: 0 })
  const failures: unknown[] = []
  const { shared, looks } = watched(database)
  const limiter = new KeyLocalLimiter(
    new LocalLimiter({
      readUsed: readUsedFrom(database),
      shared,
      beatMs,
      now,
      hasUnrecorded,
      onFailure: error => failures.push(error)
    })
  )
  t.teardown(async () => {
    limiter.close()
    await database.close()
  })
  let number = 0
  return {
    limiter,
    failures,
    looks,
    reserve: async () => {
      const decision = await limiter.reserve(wanted)
      return decision.admitted ? decision.reservation : undefined
    },
    settle: (reservation, nanoUsd) => {
      const row = { id: `${name}-${number++}`, atMs: Date.now() }
      limiter.settle(reservation, { tokens: 0, nanoUsd, row })
      return () => {
        insertUsage(database, [usageRowOf(0, { id: row.id, at_ms: row.atMs, cost_nano_usd: nanoUsd })])
      }
    }
  }
}

/** Returns the reservations that all gateways publish. */
async function shownAmount ({ query }: Database): Promise<number> {
  return (await query.selectFrom('holdings').select('nano_usd').execute()).reduce(
    (sum, row) => sum + row.nano_usd,
    0
  )
}

/**
 * Waits for more than a number of heartbeats.
 * @param look is called at each of them
 */
async function beatsSeen (
  { query }: Database,
  count: number,
  look: () => Promise<unknown> = async () => undefined
): Promise<void> {
  const beats = new Set<string>()
  await until(async () => {
    beats.add(JSON.stringify(await query.selectFrom('gateways').selectAll().execute()))
    await look()
    return beats.size > count
  }, `${count} signs of life`)
}

t.test('concurrent calls at two gateways reserve no more than their common budget', async t => {
  const directory = t.testdir()
  const gateways = [await peer(t, directory, 'blue'), await peer(t, directory, 'green')]
  const found = await Promise.all(gateways.flatMap(({ reserve }) => Array.from({ length: 30 }, reserve)))
  t.equal(found.filter(reservation => reservation !== undefined).length, 10)
})

t.test(
  'unrecorded spending of one gateway counts at the other, and unused amounts are returned',
  async t => {
    const directory = t.testdir()
    const [blue, green] = [await peer(t, directory, 'blue'), await peer(t, directory, 'green')]
    await Promise.all([blue.reserve(), green.reserve()]) // 200 that stay open
    const reservations = await Promise.all(
      Array.from({ length: 6 }, async () => (await blue.reserve()) ?? t.fail('refused'))
    )
    const records = reservations.map((reservation, index) =>
      blue.settle(Number(reservation), index < 3 ? 100 : 0)
    )
    let admitted = 0
    await until(async () => {
      if ((await green.reserve()) !== undefined) admitted++
      return admitted === 5
    }, 'what is left once the calls without cost have ended')
    for (let more = 0; more < 10; more++) {
      if ((await green.reserve()) !== undefined || (await blue.reserve()) !== undefined) admitted++
    }
    t.equal(admitted, 5, '1,000 less 200 that are open and 300 that were spent')
    for (const record of records) record()
    for (let more = 0; more < 10; more++) {
      if ((await green.reserve()) !== undefined || (await blue.reserve()) !== undefined) admitted++
    }
    t.equal(admitted, 5, 'nor once it is recorded')
  }
)

t.test('the reservations of a gateway count until it has exited, however late it is', async t => {
  const own = processName()
  const ofProcess = (pid: number): string => own.replace(String(process.pid), String(pid))
  const rows: ReadonlyArray<readonly [name: string, id: string, silentMs: number, admitted: number]> = [
    ['a late one of this process', own, 3_600_000, 4],
    ['a late one of another process', ofProcess(process.ppid), 60_000, 4],
    ['a late one of which nothing is known', 'elsewhere', 60_000, 4],
    // A minute in the future, so that it stays recent on a slow machine.
    ['one that has just exited', ofProcess(4_194_303), -60_000, 10],
    ['one that exited a while ago', ofProcess(4_194_303), 60_000, 10],
    ['one that has not been seen for very long', 'elsewhere', 3_600_000, 10]
  ]
  for (const [name, id, silentMs, expected] of rows) {
    const directory = t.testdir()
    const database = await openDatabase(directory)
    database.write(prepare => {
      prepare('insert into gateways values (?, ?)').run(id, Date.now() - silentMs)
      prepare('insert into holdings values (?, ?, ?, 600)').run(
        id,
        'key-1',
        Date.now() - (Date.now() % 86_400_000)
      )
    })
    const green = await peer(t, directory, 'green', { beatMs: 10 })
    const found = await Promise.all(Array.from({ length: 20 }, green.reserve))
    t.equal(found.filter(reservation => reservation !== undefined).length, expected, name)
    await database.close()
  }
})

t.test(
  'a killed gateway is not waited for, and its reservations count until its records are stored',
  async t => {
    const directory = t.testdir()
    const database = await openDatabase(directory)
    t.teardown(database.close)
    const killed = processName().replace(String(process.pid), '4194303')
    database.write(prepare => {
      prepare('insert into gateways values (?, ?)').run(killed, Date.now())
      prepare('insert into holdings values (?, ?, ?, 600)').run(
        killed,
        'key-1',
        Date.now() - (Date.now() % 86_400_000)
      )
    })
    let isUnrecorded = true
    const beatMs = 5000
    const green = await peer(t, directory, 'green', { beatMs, hasUnrecorded: () => isUnrecorded })
    const found = await settles(
      Promise.all(Array.from({ length: 20 }, green.reserve)),
      'calls that wait for no other gateway, where one that runs is waited for ten beats',
      6 * beatMs
    )
    t.equal(found.filter(reservation => reservation !== undefined).length, 4)
    isUnrecorded = false
    await until(async () => (await green.reserve()) !== undefined, 'what it held to be released')
  }
)

t.test('a gateway that joins while the store is locked retries before it reserves', async t => {
  for (const [title, beatMs, lockedBeats] of [
    ['for a part of a beat', 1000, 0],
    ['for many beats', 20, 10]
  ] as const) {
    await t.test(title, async t => {
      const directory = t.testdir()
      const database = await openDatabase(directory)
      t.teardown(database.close)
      database.write(prepare => {
        prepare('insert into gateways values (?, ?)').run('elsewhere', Date.now())
        prepare('insert into holdings values (?, ?, ?, 600)').run(
          'elsewhere',
          'key-1',
          Date.now() - (Date.now() % 86_400_000)
        )
      })
      const green = await peer(t, directory, 'green', { beatMs })
      const lock = await database.query.startTransaction().execute()
      await lock.deleteFrom('secrets').execute()
      const reservations = Promise.all(Array.from({ length: 20 }, green.reserve))
      await new Promise(resolve => {
        setImmediate(resolve)
      })
      const endMs = performance.now() + lockedBeats * beatMs
      await until(() => performance.now() >= endMs, 'the beats')
      await lock.rollback().execute()
      await until(
        async () => (await database.query.selectFrom('gateways').selectAll().execute()).length === 2,
        'the other one to join'
      )
      database.write(prepare => {
        prepare('update gateways set seen_ms = seen_ms + 1').run()
      })
      t.equal((await reservations).filter(reservation => reservation !== undefined).length, 4)
      if (lockedBeats === 0) t.same(green.failures, [])
    })
  }
})

t.test('reservations of another gateway no longer count after it has closed', async t => {
  const directory = t.testdir()
  const [blue, green] = [
    await peer(t, directory, 'blue', { beatMs: 50 }),
    await peer(t, directory, 'green', { beatMs: 50 })
  ]
  await blue.reserve()
  await green.reserve()
  blue.limiter.close()
  const database = await openDatabase(directory)
  t.teardown(database.close)
  await beatsSeen(database, 3)
  const found = await Promise.all(Array.from({ length: 20 }, green.reserve))
  t.equal(found.filter(reservation => reservation !== undefined).length, 9)
})

t.test('the spending of a gateway counts until it is recorded, however long that takes', async t => {
  const directory = t.testdir()
  const [blue, green] = [
    await peer(t, directory, 'blue', { beatMs: 20 }),
    await peer(t, directory, 'green', { beatMs: 20 })
  ]
  await Promise.all([blue.reserve(), green.reserve()]) // 200 that stay open
  const record = blue.settle(Number(await blue.reserve()), 500)
  const database = await openDatabase(directory)
  t.teardown(database.close)
  const shown = async (): Promise<number> => await shownAmount(database)
  await beatsSeen(database, 30) // six times as many as a record takes
  t.equal(await shown(), 700)
  record()
  await until(async () => (await shown()) === 200, 'the amount to be forgotten once it is recorded')
  const found = await Promise.all(Array.from({ length: 10 }, green.reserve))
  t.equal(
    found.filter(reservation => reservation !== undefined).length,
    3,
    '1,000 less 200 that are open and 500 that were spent'
  )
})

t.test('a refund counts once at the other gateway: when it is recorded', async t => {
  const directory = t.testdir()
  const [blue, green] = [
    await peer(t, directory, 'blue', { beatMs: 20 }),
    await peer(t, directory, 'green', { beatMs: 20 })
  ]
  await Promise.all([blue.reserve(), green.reserve()]) // 200 that stay open
  const database = await openDatabase(directory)
  t.teardown(database.close)
  const shown = async (): Promise<number> => await shownAmount(database)
  blue.settle(Number(await blue.reserve()), 700)()
  await until(async () => (await shown()) === 200, 'the amount to be forgotten once it is recorded')
  const record = blue.settle(Number(await blue.reserve()), -300)
  await beatsSeen(database, 10)
  const amounts = new Set<number>()
  await beatsSeen(database, 10, async () => amounts.add(await shown()))
  t.same([...amounts], [200], 'the amounts of open calls stay reserved')
  record()
  const found = await Promise.all(Array.from({ length: 10 }, green.reserve))
  t.equal(
    found.filter(reservation => reservation !== undefined).length,
    4,
    '1,000 less 200 that are open and 400 that were spent'
  )
})

t.test('thousands of recorded calls are forgotten at one heartbeat', async t => {
  const directory = t.testdir()
  const database = await openDatabase(directory)
  t.teardown(database.close)
  database.write(prepare => {
    prepare('insert into gateways values (?, ?)').run('elsewhere', Date.now())
  })
  const beatMs = 5
  const blue = await peer(t, directory, 'blue', { beatMs })
  let beat: () => void = () => t.fail('no timer')
  const timers = t.intercept(globalThis, 'setInterval', {
    value: (run: () => void) => {
      beat = run
      return { unref: () => undefined }
    }
  })
  const first = blue.reserve()
  timers.restore()
  t.ok(await first) // 100 that stay open
  const limits = { budget: { usd: 1, per: 'day' } } as const
  const rows = Array.from({ length: 10_000 }, (_, number) => usageRowOf(number, { cost_nano_usd: 100 }))
  for (const { id, at_ms: atMs } of rows) {
    const decision = blue.limiter.counters.reserve({ ...wanted, limits })
    if (decision.admitted) {
      blue.limiter.settle(decision.reservation, { tokens: 0, nanoUsd: 100, row: { id, atMs } })
    }
  }
  await outlast(5 * beatMs) // until they are read
  insertUsage(database, rows)
  beat()
  await until(() => blue.looks.records === 20, 'all batches of 500 to be looked for')
  t.equal(await shownAmount(database), 1_000_100, 'as it was at that sign of life')
  await until(async () => {
    beat()
    return (await shownAmount(database)) === 100
  }, 'nothing but the open call to be shown')
  t.equal(blue.looks.records, 20, 'each is looked for once')
})

t.test(
  'reservations of a stopped process, or of a killed one with unstored records, keep counting',
  async t => {
    const stopped = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    t.teardown(() => stopped.kill('SIGKILL'))
    await until(
      () =>
        processStartMs(processName().replace(String(process.pid), String(stopped.pid))) !== undefined ||
        process.platform !== 'linux',
      'the process'
    )
    const ofProcess = (pid: number): string => processName().replace(String(process.pid), String(pid))
    let hasUnrecorded = true
    const inAnHour = (): number => Date.now() + 3_600_000
    const left = async (id: string, seenMs: number): Promise<number> => {
      const directory = t.testdir()
      const database = await openDatabase(directory)
      database.write(prepare => {
        prepare('insert into gateways values (?, ?)').run(id, seenMs)
        prepare('insert into holdings values (?, ?, ?, 600)').run(
          id,
          'key-1',
          inAnHour() - (inAnHour() % 86_400_000)
        )
      })
      await database.close()
      const green = await peer(t, directory, 'green', {
        beatMs: 10,
        now: inAnHour,
        hasUnrecorded: () => hasUnrecorded
      })
      const found = await Promise.all(Array.from({ length: 20 }, green.reserve))
      t.same(green.failures, [], 'the store can be used')
      green.limiter.close()
      return found.filter(reservation => reservation !== undefined).length
    }
    if (process.platform === 'linux') {
      t.equal(await left(ofProcess(Number(stopped.pid)), Date.now() + 1000), 4, 'stopped for an hour')
      t.equal(
        await left(ofProcess(Number(stopped.pid)), Date.now() - 86_000_000),
        10,
        'another process has its id now'
      )
    }
    t.equal(await left(ofProcess(4_194_303), Date.now()), 4, 'killed, and its journal waits')
    hasUnrecorded = false
    t.equal(await left(ofProcess(4_194_303), Date.now()), 10, 'killed, and its records are stored')
  }
)

t.test(
  'a gateway that missed heartbeats looks for others before it reserves, and the others wait for it',
  async t => {
    const directory = t.testdir()
    const blue = await peer(t, directory, 'blue')
    t.ok(await blue.reserve())
    const database = await openDatabase(directory)
    t.teardown(database.close)
    const joins = (): void =>
      database.write(prepare => {
        prepare('delete from gateways').run()
        prepare('insert into gateways values (?, ?)').run('green', Date.now())
        prepare('insert or replace into holdings values (?, ?, ?, 700)').run(
          'green',
          'key-1',
          Date.now() - (Date.now() % 86_400_000)
        )
      })
    joins()
    for (const endMs = performance.now() + 400; performance.now() < endMs;); // two heartbeats in one turn
    const found = await Promise.all(Array.from({ length: 10 }, blue.reserve))
    t.equal(
      found.filter(reservation => reservation !== undefined).length,
      2,
      '1,000 less 100 of its own and 700 of the other'
    )
    joins()
    await until(
      async () => (await database.query.selectFrom('gateways').select('id').execute()).length === 2,
      'a beat'
    )
    const before = blue.looks.others
    const later = blue.reserve()
    await until(() => blue.looks.others >= before + 2, 'it to wait for the other')
    const waiting = blue.looks.others
    database.write(prepare => {
      prepare('update holdings set nano_usd = 600 where gateway_id = ?').run('green')
      prepare('update gateways set seen_ms = seen_ms + 1 where id = ?').run('green')
    })
    t.ok(await later)
    t.equal(blue.looks.others, waiting + 1, 'the next sign of life ends that')
  }
)

t.test('what a gateway uses while it joins again counts at the others', async t => {
  const directory = t.testdir()
  const [blue, green] = [
    await peer(t, directory, 'blue', { beatMs: 20 }),
    await peer(t, directory, 'green', { beatMs: 20 })
  ]
  const database = await openDatabase(directory)
  t.teardown(database.close)
  const gateways = async (): Promise<string[]> =>
    (await database.query.selectFrom('gateways').select('id').execute()).map(({ id }) => id)
  const reservation = await blue.reserve()
  const [id] = await gateways()
  await green.reserve() // 100 that stay open
  database.write(prepare => {
    prepare('delete from holdings where gateway_id = ?').run(id)
    prepare('delete from gateways where id = ?').run(id)
  })
  await until(async () => (await gateways()).length === 2, 'it to show itself again')
  blue.settle(Number(reservation), 500)
  await beatsSeen(database, 4)
  t.equal(await shownAmount(database), 600)
})

t.test('a gateway that closes leaves the entire budget to the other one', async t => {
  const directory = t.testdir()
  const [blue, green] = [await peer(t, directory, 'blue'), await peer(t, directory, 'green')]
  await Promise.all([blue.reserve(), green.reserve()])
  blue.limiter.close()
  let admitted = 1
  await until(async () => {
    if ((await green.reserve()) !== undefined) admitted++
    return admitted === 10
  }, 'the rest of the budget')
  t.equal(await green.reserve(), undefined)
})

t.test('the spending of a closed gateway counts until its records are stored', async t => {
  const directory = t.testdir()
  let isUnrecorded = true
  const options = { beatMs: 20, hasUnrecorded: () => isUnrecorded }
  const [blue, green] = [
    await peer(t, directory, 'blue', options),
    await peer(t, directory, 'green', options)
  ]
  const [reserved] = await Promise.all([blue.reserve(), green.reserve()])
  const record = blue.settle(Number(reserved), 500)
  blue.limiter.close()
  const database = await openDatabase(directory)
  t.teardown(database.close)
  await beatsSeen(database, 15) // more heartbeats than a dead gateway may miss
  t.equal(await shownAmount(database), 600)
  const found = await Promise.all(Array.from({ length: 10 }, green.reserve))
  t.equal(
    found.filter(reservation => reservation !== undefined).length,
    4,
    '1,000 less 100 that are open and 500 that were spent'
  )
  record()
  isUnrecorded = false
  await until(
    async () => (await database.query.selectFrom('gateways').selectAll().execute()).length === 1,
    'the closed one to be dropped'
  )
  blue.limiter.close()
  t.equal(
    (await database.query.selectFrom('gateways').selectAll().execute()).length,
    1,
    'a second end changes nothing'
  )
  t.equal(await green.reserve(), undefined)
  for (const reservation of found) if (reservation !== undefined) green.settle(reservation, 0)
  const again = await Promise.all(Array.from({ length: 10 }, green.reserve))
  t.equal(again.filter(reservation => reservation !== undefined).length, 4, 'nothing counts twice')
})

t.test('a joining gateway does not wait for a closed one, and counts what that one spent', async t => {
  const directory = t.testdir()
  const options = { beatMs: 60_000, hasUnrecorded: () => true }
  const blue = await peer(t, directory, 'blue', options)
  blue.settle(Number(await blue.reserve()), 600)
  blue.limiter.close()
  const green = await peer(t, directory, 'green', options)
  const found = await Promise.all(Array.from({ length: 10 }, green.reserve))
  t.equal(found.filter(reservation => reservation !== undefined).length, 4)
})

t.test(
  'a single gateway does not wait, and with a read-only store each gateway has its own budget',
  async t => {
    const directory = t.testdir()
    const alone = await peer(t, directory, 'alone')
    t.ok(await alone.reserve())
    t.equal(alone.looks.others, 1, 'one look for others, at once')
    const database = await openDatabase(directory)
    t.teardown(database.close)
    await database.query.schema.dropTable('gateways').execute()
    for (let call = 0; call < 9; call++) t.ok(await alone.reserve())
    t.equal(await alone.reserve(), undefined, 'its own count holds')
    await until(() => alone.failures.length > 0, 'the failure')
  }
)
