/**
 * Measures what a live tail in the dashboard adds to a call: `node build/bench/live-tail.js [--rounds 8]
 * [--seconds 3] [--lanes 'JSON, 1 KB body, 32 callers']`.
 *
 * One gateway with everything on; each round runs with and without a live tail, in alternating order. The
 * numbers are medians over the rounds of differences within a round; the thread that reads the calls is
 * included.
 */

import { parseArgs } from 'node:util'
import { Admin } from '../lib/accounts/admin.ts'
import { openKeyStore } from '../lib/keys/key-store.ts'
import { openDatabase } from '../lib/stores/open-database.ts'
import { headgate, type Running } from './support/contenders.ts'
import { lanes, type Lane } from './support/lanes.ts'
import { measureLane, startLoad, startMock } from './support/measure-lane.ts'
import { table } from './support/report.ts'
import { scratchFolder } from './support/scratch-folder.ts'
import { median } from './support/statistics.ts'

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '3' },
    lanes: { type: 'string', default: 'JSON, 1 KB body, 32 callers;200 events, 8 per write, 8 callers' }
  }
})
const rounds = Number(flags.rounds)
const chosen = lanes.filter(({ name }) => flags.lanes.split(';').some(part => name.includes(part)))
const dataDir = scratchFolder('live-tail')

const { upstreamPort, mock } = await startMock()
const load = await startLoad()
const contender = headgate('Headgate', { dataDir })
try {
  const gateway = await contender.start?.(upstreamPort)
  if (gateway === undefined) throw new Error('the gateway did not start')
  try {
    const session = await signIn()
    const rows: string[][] = []
    for (const lane of chosen) rows.push(await compared(lane, gateway, session))
    console.log(table('A live tail', ['', 'CPU µs without', 'with', 'more'], rows))
  } finally {
    await gateway.stop()
  }
} finally {
  await Promise.all([mock, load].map(async started => await started.stop()))
}

async function compared (lane: Lane, gateway: Running, session: SessionHeaders): Promise<string[]> {
  const without: number[] = []
  const shares: number[] = []
  const measure = async (warmUpMs = 500): Promise<number> =>
    (
      await measureLane(load, lane, contender, gateway, upstreamPort, {
        warmUpMs,
        durationMs: Number(flags.seconds) * 1000
      })
    ).cpuUsPerUnit
  const followed = async (): Promise<number> => {
    const stop = await follow(gateway, session)
    const us = await measure()
    stop()
    return us
  }
  await measure(4000) // for V8's compiler
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0 ? await measure() : await followed()
    const second = round % 2 === 0 ? await followed() : await measure()
    const [off, on] = round % 2 === 0 ? [first, second] : [second, first]
    without.push(off)
    shares.push(on / off - 1)
  }
  const us = median(without)
  return [
    `${lane.name} (${lane.unit})`,
    us.toFixed(2),
    (us * (1 + median(shares))).toFixed(2),
    `${(100 * median(shares)).toFixed(1)} %`
  ]
}

interface SessionHeaders extends Record<string, string> {
  readonly cookie: string
  readonly 'x-headgate-csrf': string
}

/**
 * Creates an owner with a session.
 * @returns the headers that prove it
 */
async function signIn (): Promise<SessionHeaders> {
  const database = await openDatabase({
    server: { dataDir },
    store: { poolSize: 1, connectMs: 5000, statementMs: 5000, keysStaleMs: 60_000 }
  })
  const keys = await openKeyStore(database, [], { pollMs: 60_000 })
  const { users, sessions } = new Admin(database, keys).accounts
  const owner = await users.create({ name: 'Owner', email: 'owner@example.com', role: 'owner', projects: [] })
  const { token, csrfToken } = await sessions.create(owner.id, { address: null, userAgent: null }, false)
  keys.close()
  await database.close()
  return { cookie: `headgate_session=${token}`, 'x-headgate-csrf': csrfToken }
}

/**
 * Follows the calls from the first message on.
 * @returns a function that ends it
 */
async function follow ({ port }: Running, session: SessionHeaders): Promise<() => void> {
  const leaving = new AbortController()
  const { ok, body } = await fetch(`http://127.0.0.1:${port}/admin/v1/live-calls`, {
    headers: session,
    signal: leaving.signal
  })
  const reader = body?.getReader()
  const first = await reader?.read()
  if (!ok || first?.value === undefined) throw new Error('the calls cannot be followed')
  const read = async (): Promise<void> => {
    while ((await reader?.read())?.done === false) {
      /* only read */
    }
  }
  read().catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error
  })
  return () => leaving.abort()
}
