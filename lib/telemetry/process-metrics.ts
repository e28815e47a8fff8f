/** Measures the process, with the metric names that Node.js dashboards expect. */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { version } from '../text/version.ts'
import { single, type Family } from './metric-families.ts'

/** The timer resolution; only delays beyond it count as lag. */
const tickMs = 20

export class ProcessMetrics {
  readonly #delay = monitorEventLoopDelay({ resolution: tickMs })

  constructor () {
    this.#delay.enable()
  }

  /** Returns the event loop lag since the last call, and the current value of everything else. */
  families (): Family[] {
    const { rss, heapUsed, external } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const [p50 = 0, p99 = 0, max = 0] = [
      this.#delay.percentile(50),
      this.#delay.percentile(99),
      this.#delay.max
    ].map(lagSeconds)
    this.#delay.reset()
    const highest = { merge: 'max' } as const
    return [
      {
        ...single(
          'gauge',
          'nodejs_eventloop_lag_p50_seconds',
          'Event loop lag since the last scrape, median.',
          p50
        ),
        ...highest
      },
      {
        ...single(
          'gauge',
          'nodejs_eventloop_lag_p99_seconds',
          'Event loop lag since the last scrape, 99th percentile.',
          p99
        ),
        ...highest
      },
      {
        ...single(
          'gauge',
          'nodejs_eventloop_lag_max_seconds',
          'Event loop lag since the last scrape, maximum.',
          max
        ),
        ...highest
      },
      single('gauge', 'process_resident_memory_bytes', 'Resident memory.', rss),
      single('gauge', 'nodejs_heap_size_used_bytes', 'Used heap.', heapUsed),
      single('gauge', 'nodejs_external_memory_bytes', 'Memory of objects outside the heap.', external),
      single('counter', 'process_cpu_seconds_total', 'CPU time.', (user + system) / 1e6),
      single('gauge', 'headgate_processes', 'Processes covered by these metrics.', 1),
      {
        name: 'headgate_build_info',
        help: 'Version of Headgate.',
        type: 'gauge',
        samples: [{ labels: { version }, value: 1 }],
        ...highest
      }
    ]
  }
}

/** Converts to seconds of lag. Without a tick since the last call the value is huge and meaningless. */
function lagSeconds (nanoseconds: number): number {
  const ms = nanoseconds / 1e6 - tickMs
  return ms > 0 && ms < 86_400_000 ? ms / 1000 : 0
}
