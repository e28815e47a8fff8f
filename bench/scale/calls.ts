/**
 * CPU time of a JSON call with PostgreSQL and Redis, against the embedded store and counters: with limits and
 * without.
 */

import { headgate, type Contender, type Running } from '../support/contenders.ts'
import { lanes } from '../support/lanes.ts'
import { cpuUs } from '../../lib/load/process-cost.ts'
import { measureLane, startLoad, startMock } from '../support/measure-lane.ts'
import { table } from '../support/report.ts'
import { median } from '../support/statistics.ts'
import { sharedConfiguration, type ScaleOptions, type Servers } from './servers.ts'

/** Every kind of limit, none of which is reached. */
export const limited = {
  keys: [
    {
      name: 'bench',
      key: 'env:BENCH_KEY',
      limits: {
        requests_per_minute: 1_000_000,
        tokens_per_minute: 1_000_000_000,
        concurrent_calls: 10_000,
        budget: { usd: 100_000, per: 'month' }
      }
    }
  ],
  models: { 'mock/json': { price: { input: 1, output: 2 } } }
}

export async function calls (servers: Servers, { rounds }: ScaleOptions): Promise<string> {
  const lane = lanes.find(({ name }) => name === 'JSON, 1 KB body, 32 callers')
  if (lane === undefined) throw new Error('there is no such lane')
  const { config, env } = sharedConfiguration(servers)
  const contenders = [
    headgate('no limits'),
    headgate('no limits, shared', { config, env }),
    headgate('four limits', { config: limited }),
    headgate('four limits, shared', { config: { ...config, ...limited }, env })
  ]
  const { upstreamPort, mock } = await startMock()
  const load = await startLoad()
  const [costs, redisCosts] = [
    new Map<string, number[]>(contenders.map(({ name }) => [name, []])),
    new Map<string, number[]>(contenders.map(({ name }) => [name, []]))
  ]
  try {
    const running = new Map<Contender, Running>()
    for (const contender of contenders) {
      if (contender.start !== undefined) running.set(contender, await contender.start(upstreamPort))
    }
    // Round 0 is for V8's compiler, and discarded.
    for (let round = 0; round <= rounds; round++) {
      const times = { warmUpMs: 0, durationMs: round === 0 ? 5000 : 2000 }
      for (const [contender, target] of running) {
        const redisBefore = cpuUs(servers.redisPid)
        const { cpuUsPerUnit, requests } = await measureLane(
          load,
          lane,
          contender,
          target,
          upstreamPort,
          times
        )
        if (round === 0) continue
        costs.get(contender.name)?.push(cpuUsPerUnit)
        redisCosts.get(contender.name)?.push((cpuUs(servers.redisPid) - redisBefore) / requests)
      }
    }
    for (const { stop } of running.values()) await stop()
  } finally {
    await Promise.all([load.stop(), mock.stop()])
  }
  const row = (name: string, most: number): string[] => {
    const [embedded = [], shared = []] = [costs.get(name), costs.get(`${name}, shared`)]
    const more = median(shared.map((cost, round) => cost / (embedded[round] ?? NaN) - 1))
    return [
      name,
      median(embedded).toFixed(0),
      median(shared).toFixed(0),
      `${(more * 100).toFixed(1)} %`,
      `≤ ${most} %`,
      median(redisCosts.get(`${name}, shared`) ?? []).toFixed(0)
    ]
  }
  return table(
    'CPU µs per JSON call of 1 KB, 32 callers',
    ['', 'embedded', 'PostgreSQL and Redis', 'more', 'target', 'of Redis'],
    [row('no limits', 3), row('four limits', 15)]
  )
}
