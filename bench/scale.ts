/**
 * Measures the cost of several nodes, on a dedicated PostgreSQL and Redis: `npm run bench:scale -- [--only
 * calls,limits,ledger,outage,idle,regions] [--rounds 5] [--outage-seconds 60]`.
 *
 * Each part prints a table. The gateway has its own core; PostgreSQL, Redis, provider and callers share the
 * others. PostgreSQL waits for the disk, as it does by default.
 */

import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { calls } from './scale/calls.ts'
import { idle } from './scale/idle.ts'
import { ledger } from './scale/ledger.ts'
import { limits } from './scale/limits.ts'
import { outage } from './scale/outage.ts'
import { simulatedRegions } from './scale/regions.ts'
import { startServers } from './scale/servers.ts'

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: 'calls,limits,ledger,outage,idle,regions' },
    rounds: { type: 'string', default: '5' },
    'outage-seconds': { type: 'string', default: '60' }
  }
})
const parts = { calls, limits, ledger, outage, idle, regions: simulatedRegions }
const chosen = Object.entries(parts).filter(([name]) => flags.only.split(',').includes(name))
const servers = await startServers()

try {
  console.log(
    `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB\n`
  )
  for (const [, run] of chosen) {
    console.log(
      await run(servers, {
        rounds: bounded(flags.rounds, 20),
        outageSeconds: bounded(flags['outage-seconds'], 300)
      })
    )
  }
} finally {
  await servers.stop()
}

function bounded (flag: string, most: number): number {
  return Math.min(Math.max(Number(flag), 1), most)
}
