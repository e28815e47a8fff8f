import { execFile, spawnSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DatabaseSync } from '@photostructure/sqlite'
import { percentile } from '../../lib/load/percentile.ts'
import { each, eventually, finding, type Finding, type Scenario } from './scenario.ts'
import { main, startWorld, type World } from './world.ts'

const configuration = { providers: { sandbox: { kind: 'sandbox', options: { words_per_second: 0 } } } }

async function ask (world: World, count: number): Promise<{ good: number, sorted: number[] }> {
  const times: number[] = []
  let good = 0
  await each(count, 8, async () => {
    const startedMs = performance.now()
    const { status } = await world.post('/v1/chat/completions', { model: 'sandbox/echo', messages: 'x' })
    times.push(performance.now() - startedMs)
    if (status === 200) good++
  })
  return { good, sorted: times.toSorted((a, b) => a - b) }
}

async function locked (short: boolean): Promise<Finding> {
  const [calls, lockMs] = short ? [100, 3000] : [200, 20_000]
  const world = await startWorld({ configuration })
  try {
    const other = new DatabaseSync(join(world.dataDir, 'headgate.db'))
    other.exec('begin immediate')
    const unlocked = new Promise<void>(resolve => {
      setTimeout(() => {
        other.exec('commit')
        other.close()
        resolve()
      }, lockMs)
    })
    const { good, sorted } = await ask(world, calls)
    await unlocked
    const all = await eventually(() => world.ledgerIds().length === calls, 20_000)
    return finding(
      'another process holds the write lock: calls go on, every row is written afterwards',
      good === calls && all,
      `${lockMs / 1000} s; ${good} of ${calls} succeeded, p50 ${percentile(sorted, 0.5).toFixed(1)} ms, max ${sorted.at(-1)?.toFixed(0)} ms; ${world.ledgerIds().length} rows`
    )
  } finally {
    await world.stop()
  }
}

async function viewed (): Promise<Finding> {
  const world = await startWorld({ configuration })
  try {
    await ask(world, 10)
    const database = join(world.dataDir, 'headgate.db')
    // A separate program: closing the file in this process would prove nothing about the locks of another.
    const look = (): void => {
      spawnSync(process.execPath, [
        '--input-type=module',
        '-e',
        `import { DatabaseSync } from '@photostructure/sqlite'
        const database = new DatabaseSync(${JSON.stringify(database)}); database.prepare('select count(*) from usage').get(); database.close()`
      ])
    }
    look()
    await ask(world, 20)
    look()
    const seen = await eventually(() => world.ledgerIds().length === 30)
    return finding(
      'another program opens and closes the database: no row is lost',
      seen,
      `${world.ledgerIds().length} of 30 rows`
    )
  } finally {
    await world.stop()
  }
}

async function corrupted (): Promise<Finding> {
  const world = await startWorld({ configuration })
  await ask(world, 10)
  await world.process.stop()
  writeFileSync(join(world.dataDir, 'headgate.db'), Buffer.alloc(16_384, 0x41))
  const refused = await refusal(world)
  rmSync(world.directory, { recursive: true, force: true })
  return finding(
    'a damaged database refuses the start and names the file',
    /headgate\.db/.test(refused),
    refused
  )
}

/** The file is deleted or replaced while the gateway runs. */
async function lost (how: 'deleted' | 'replaced'): Promise<Finding> {
  let world = await startWorld({ configuration })
  try {
    await ask(world, 10)
    await eventually(() => world.ledgerIds().length === 10)
    const database = join(world.dataDir, 'headgate.db')
    if (how === 'replaced') {
      copyFileSync(database, `${database}.other`)
      renameSync(`${database}.other`, database)
    } else for (const end of ['', '-wal', '-shm']) rmSync(database + end, { force: true })
    const { good } = await ask(world, 50)
    const said = await eventually(async () => (await world.degraded()).includes('store'))
    const degraded = await world.degraded()
    await world.process.stop()
    world = await world.restart()
    const all = await eventually(() => world.ledgerIds().length >= 50)
    const healthy = (await world.degraded()).length === 0
    return finding(
      `the file is ${how}: calls go on, /health says so, the next start has the records since`,
      good === 50 && said && all && healthy,
      `${good} of 50 succeeded; /health ${JSON.stringify(degraded)}; ${world.ledgerIds().length} rows after the next start`
    )
  } finally {
    await world.stop()
  }
}

/** Pages of the file are overwritten while the gateway runs. */
async function damaged (): Promise<Finding> {
  const world = await startWorld({ configuration })
  try {
    await ask(world, 300)
    await eventually(() => world.ledgerIds().length === 300)
    const database = join(world.dataDir, 'headgate.db')
    // Merges the write-ahead log into the file, as SQLite does on its own after some megabytes.
    const other = new DatabaseSync(database)
    other.exec('pragma wal_checkpoint(truncate)')
    const file = openSync(database, 'r+')
    const noise = Buffer.alloc(4096, 0x41)
    for (let at = 0; at < statSync(database).size; at += noise.length) {
      writeSync(file, noise, 0, noise.length, at)
    }
    const { good } = await ask(world, 300)
    const said = await eventually(async () => (await world.degraded()).includes('ledger'), 20_000)
    const degraded = await world.degraded()
    closeSync(file)
    other.close()
    return finding(
      'the file is overwritten while a gateway runs: calls go on, and /health says so',
      good === 300 && said,
      `${good} of 300 succeeded; /health ${JSON.stringify(degraded)}`
    )
  } finally {
    await world.stop()
  }
}

async function backedUp (short: boolean): Promise<Finding> {
  const calls = short ? 1000 : 5000
  const world = await startWorld({ configuration })
  try {
    await ask(world, 100)
    await eventually(() => world.ledgerIds().length === 100)
    const copy = join(world.directory, 'copy.db')
    const answer = ask(world, calls)
    await promisify(execFile)(
      process.execPath,
      [main, 'backup', copy, '--config', join(world.directory, 'headgate.yaml')],
      { env: { ...process.env, SOAK_KEY: 'soak-key' } }
    )
    const { good } = await answer
    const all = await eventually(() => world.ledgerIds().length === calls + 100)
    const database = new DatabaseSync(copy, { readOnly: true })
    const check = Object(database.prepare('pragma integrity_check').get()).integrity_check
    const rows = database.prepare('select call_id from usage').all().length
    database.close()
    return finding(
      '`headgate backup` under load: a complete copy, and no row is lost',
      good === calls && all && check === 'ok' && rows >= 100,
      `${good} of ${calls} succeeded; the copy is ${check} and has ${rows} rows; ${world.ledgerIds().length} rows in the store`
    )
  } finally {
    await world.stop()
  }
}

/**
 * Runs `use` on a small separate file system.
 * @returns `undefined` if none can be mounted
 */
async function onDisk<T> (use: (disk: string) => Promise<T>): Promise<T | undefined> {
  const disk = mkdtempSync(join(tmpdir(), 'headgate-disk-'))
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'none', disk]).status !== 0) {
    rmSync(disk, { recursive: true })
    return undefined
  }
  try {
    return await use(disk)
  } finally {
    spawnSync('umount', ['--lazy', disk])
    rmSync(disk, { recursive: true, force: true })
  }
}

async function full (): Promise<Finding[]> {
  const found = await onDisk(async disk => {
    const dataDir = join(disk, 'data')
    mkdirSync(dataDir, { mode: 0o700 })
    const world = await startWorld({ configuration, dataDir })
    try {
      await ask(world, 20)
      spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'ballast')}`, 'bs=4096'])
      const { good } = await ask(world, 500)
      const said = await eventually(async () => (await world.degraded()).includes('ledger'))
      const degraded = await world.degraded()
      rmSync(join(disk, 'ballast'))
      const written = await eventually(() => world.ledgerIds().length >= 520, 20_000)
      return finding(
        'a full disk: calls go on, /health says so, and rows are written once there is room',
        good === 500 && said && written,
        `${good} of 500 succeeded; /health ${JSON.stringify(degraded)}; ${world.ledgerIds().length} rows afterwards`
      )
    } finally {
      await world.stop()
    }
  })
  return found === undefined ? [] : [found]
}

/** A disk that is read-only from the start: it cannot become so while files are open for writing. */
async function readOnly (): Promise<Finding[]> {
  const found = await onDisk(async disk => {
    const dataDir = join(disk, 'data')
    mkdirSync(dataDir, { mode: 0o700 })
    let world = await startWorld({ configuration, dataDir })
    try {
      await ask(world, 20)
      await world.process.stop()
      spawnSync('mount', ['-o', 'remount,ro', disk])
      const refused = await refusal(world)
      spawnSync('mount', ['-o', 'remount,rw', disk])
      world = await world.restart()
      const rows = world.ledgerIds().length
      return finding(
        'a read-only disk refuses the start and says why; nothing is lost',
        /readonly|read-only/.test(refused) && rows === 20,
        `${refused}; ${rows} of 20 rows once it can be written`
      )
    } finally {
      await world.stop()
    }
  })
  return found === undefined ? [] : [found]
}

/** Returns the last line of a refused start. */
async function refusal (world: World): Promise<string> {
  try {
    const again = await world.restart()
    await again.process.stop()
    return 'it started'
  } catch (error) {
    // Log lines, such as one about the limit of open files, are not the reason.
    return String(error).trimEnd().split('\n').findLast(line => !line.startsWith('{'))?.slice(0, 160) ?? ''
  }
}

/** Accidents of the file with the keys and the usage ledger. */
export const stores: Scenario = {
  name: 'the store',
  run: async short => [
    await locked(short),
    await viewed(),
    await backedUp(short),
    await lost('deleted'),
    await lost('replaced'),
    await damaged(),
    await corrupted(),
    ...(await full()),
    ...(await readOnly())
  ]
}
