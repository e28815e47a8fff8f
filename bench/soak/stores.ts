import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { percentile } from '../support/statistics.ts'
import { each, eventually, finding, type Finding, type Scenario } from './scenario.ts'
import { startWorld, type World } from './world.ts'

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
    return finding('another process holds the write lock: calls go on, every row is written afterwards', good === calls && all,
      `${lockMs / 1000} s; ${good} of ${calls} answered, p50 ${percentile(sorted, 0.5).toFixed(1)} ms, max ${sorted.at(-1)?.toFixed(0)} ms; ${world.ledgerIds().length} rows`)
  } finally {
    await world.stop()
  }
}

async function viewed (): Promise<Finding> {
  const world = await startWorld({ configuration })
  try {
    await ask(world, 10)
    const database = join(world.dataDir, 'headgate.db')
    // A program of its own: closing the file in this process would prove nothing about locks of another one.
    const look = (): void => {
      spawnSync(process.execPath, ['--input-type=module', '-e', `import { DatabaseSync } from '@photostructure/sqlite'
        const database = new DatabaseSync(${JSON.stringify(database)}); database.prepare('select count(*) from usage').get(); database.close()`])
    }
    look()
    await ask(world, 20)
    look()
    const seen = await eventually(() => world.ledgerIds().length === 30)
    return finding('another program opens and closes the database: no row is lost', seen, `${world.ledgerIds().length} of 30 rows`)
  } finally {
    await world.stop()
  }
}

async function corrupted (): Promise<Finding> {
  const world = await startWorld({ configuration })
  await ask(world, 10)
  await world.process.stop()
  writeFileSync(join(world.dataDir, 'headgate.db'), Buffer.alloc(16_384, 0x41))
  const refused = await world.restart().then(async again => {
    await again.stop()
    return 'it started'
  }, (error: unknown) => String(error))
  rmSync(world.directory, { recursive: true, force: true })
  return finding('a damaged database refuses the start and names the file', /headgate\.db/.test(refused), refused.split('\n').at(-2)?.slice(0, 160) ?? refused.slice(0, 160))
}

async function full (): Promise<Finding> {
  const promise = 'a full disk: calls go on, and rows are written once there is room'
  const disk = mkdtempSync(join(tmpdir(), 'headgate-disk-'))
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'none', disk]).status !== 0) {
    rmSync(disk, { recursive: true })
    return finding(promise, true, 'not run: a file system of its own needs the right to mount one')
  }
  try {
    const dataDir = join(disk, 'data')
    mkdirSync(dataDir, { mode: 0o700 })
    const world = await startWorld({ configuration, dataDir })
    try {
      await ask(world, 20)
      spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'ballast')}`, 'bs=4096'])
      const { good } = await ask(world, 500)
      const health = await (await fetch(`${world.url}/health`, { headers: { authorization: 'Bearer soak-key' } })).text()
      rmSync(join(disk, 'ballast'))
      const written = await eventually(() => world.ledgerIds().length >= 520, 20_000)
      return finding(promise, good === 500 && written, `${good} of 500 answered; /health ${health}; ${world.ledgerIds().length} rows afterwards`)
    } finally {
      await world.stop()
    }
  } finally {
    spawnSync('umount', ['--lazy', disk])
    rmSync(disk, { recursive: true, force: true })
  }
}

/** Tries what may happen to the file that holds keys and the usage ledger. */
export const stores: Scenario = {
  name: 'the store',
  run: async short => [await locked(short), await viewed(), await corrupted(), await full()]
}

