/**
 * The runner of micro benchmarks: a file ending in `.bench.ts` exports `scenarios`, and `run.ts` measures
 * them in fresh processes.
 */

import { median } from './statistics.ts'

export interface Scenario {
  /** Names the shape: `sse read: 200 events, 8 per read`. */
  readonly name: string
  readonly per: 'event' | 'call'
  /** Events or calls in one `run`. */
  readonly count: number
  readonly run: () => unknown
  /** @throws if the result of a run is wrong, so that a fast wrong answer fails */
  readonly check: (result: unknown) => void
}

export interface Measured { readonly name: string, readonly per: Scenario['per'], readonly us: number }

const warmUpMs = 300
const batches = 7

/**
 * Microseconds of CPU time including garbage collector and compiler: other load on the machine does not
 * count. Median over a few batches, after a warm-up; the result is checked before and after.
 */
export async function measure (scenario: Scenario, batchMs: number): Promise<Measured> {
  const { name, per, count, run, check } = scenario
  check(await run())
  const runsPerMs = await runFor(run, warmUpMs) / warmUpMs
  const runs = Math.max(1, Math.round(runsPerMs * batchMs))
  const all: number[] = []
  for (let batch = 0; batch < batches; batch++) {
    const before = process.cpuUsage()
    for (let index = 0; index < runs; index++) {
      const result = run()
      if (result instanceof Promise) await result
    }
    const { user, system } = process.cpuUsage(before)
    all.push((user + system) / (runs * count))
  }
  check(await run())
  return { name, per, us: median(all) }
}

async function runFor (run: () => unknown, ms: number): Promise<number> {
  const untilMs = performance.now() + ms
  let runs = 0
  for (; performance.now() < untilMs; runs++) await run()
  return runs
}
