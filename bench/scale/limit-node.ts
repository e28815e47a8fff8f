/**
 * A node that reserves and settles: a child process of `limits`, which sends it jobs as messages. `node
 * limit-node.js REDIS`
 */

import { limitAccountsOf } from '../../lib/limits/call-accounts.ts'
import { tmpdir } from 'node:os'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { openCoordination } from '../../lib/process/open-coordination.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { createLog } from '../../lib/log/log.ts'
import { scratchFolder } from '../support/scratch-folder.ts'
import { percentile } from '../../lib/load/percentile.ts'
import { SlicedLimiter } from './sliced-limiter.ts'

export interface LimitJob {
  readonly way: 'round trip' | 'slices'
  readonly keyId: string
  /** Requests per minute. */
  readonly limit: number
  /** Requests per slice. */
  readonly slice: number
  readonly callsPerSecond: number
  readonly seconds: number
  /** The fraction of these calls made at this node. */
  readonly skew: number
}

export interface LimitResult {
  readonly admitted: number
  /** Requests that this node took from the limit and did not use. */
  readonly unused: number
  readonly cpuUsPerCall: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const redisUrl = process.argv[2] ?? ''
const settings = loadSettings({
  env: { REDIS: redisUrl },
  cwd: tmpdir(),
  config: { coordination: { url: 'env:REDIS', timeout_ms: 5000 } }
})
const coordination = await openCoordination(settings, {
  usageDatabase: await openDatabase(scratchFolder('limit-node')),
  log: createLog('silent', { write: () => undefined }),
  without: () => 'refuse'
})
if (coordination === undefined) throw new Error('there is no Redis')
const { limiter } = coordination
const sliced = await SlicedLimiter.connect(redisUrl)

process.once('SIGTERM', () => process.exit())
process.on('message', (job: LimitJob) => {
  void run(job).then(result => process.send?.(result))
})

async function run ({
  way,
  keyId,
  limit,
  slice,
  callsPerSecond,
  seconds,
  skew
}: LimitJob): Promise<LimitResult> {
  const wanted = {
    accounts: limitAccountsOf([{ kind: 'key', id: keyId, limits: { requestsPerMinute: limit } }]),
    wanted: {}
  }
  const latencies: number[] = []
  let [admitted, refused] = [0, false]
  const call = async (): Promise<void> => {
    const startMs = performance.now()
    if (way === 'slices') {
      if (!await sliced.reserve(keyId, limit, slice)) refused = true
      else admitted++
    } else {
      const decision = await limiter.reserve(wanted)
      if (decision.admitted) {
        limiter.settle(decision.reservation, { used: {} })
        admitted++
      } else refused = true
    }
    latencies.push(performance.now() - startMs)
  }
  const cpuBefore = process.cpuUsage()
  const startMs = performance.now()
  const open = new Set<Promise<void>>()
  let begun = 0
  await new Promise<void>(resolve => {
    const timer = setInterval(() => {
      const passedMs = performance.now() - startMs
      if (passedMs > seconds * 1000 || refused) {
        clearInterval(timer)
        resolve()
        return
      }
      while (begun < passedMs / 1000 * callsPerSecond * skew && open.size < 256) {
        begun++
        const one: Promise<void> = call().finally(() => open.delete(one))
        open.add(one)
      }
    }, 1)
  })
  await Promise.all(open)
  const { user, system } = process.cpuUsage(cpuBefore)
  const sorted = latencies.toSorted((a, b) => a - b)
  return {
    admitted,
    unused: sliced.unused(keyId),
    cpuUsPerCall: (user + system) / latencies.length,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99)
  }
}
