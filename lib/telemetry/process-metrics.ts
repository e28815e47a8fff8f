/** How a process is doing, under the names that dashboards for Node.js know. */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { version } from '../text/version.ts'
import { labels, type Family } from './metric-families.ts'

/** Late is what is later than the clock itself ticks. */
const tickMs = 20

export class ProcessMetrics {
  readonly #delay = monitorEventLoopDelay({ resolution: tickMs })

  constructor () {
    this.#delay.enable()
  }

  /** The event loop since the last time this was asked, everything else as it is now. */
  families (): Family[] {
    const { rss, heapUsed, external } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const [p50, p99, max] = [this.#delay.percentile(50), this.#delay.percentile(99), this.#delay.max].map(lagSeconds)
    this.#delay.reset()
    const family = (type: Family['type'], name: string, help: string, value = 0): Family => ({ name, help, type, samples: [['', value]] })
    const highest = { merge: 'max' } as const
    return [
      { ...family('gauge', 'nodejs_eventloop_lag_p50_seconds', 'Lateness of the event loop since the last scrape, median.', p50), ...highest },
      { ...family('gauge', 'nodejs_eventloop_lag_p99_seconds', 'Lateness of the event loop since the last scrape, 99th percentile.', p99), ...highest },
      { ...family('gauge', 'nodejs_eventloop_lag_max_seconds', 'Lateness of the event loop since the last scrape, at most.', max), ...highest },
      family('gauge', 'process_resident_memory_bytes', 'Memory of all processes.', rss),
      family('gauge', 'nodejs_heap_size_used_bytes', 'Heap in use.', heapUsed),
      family('gauge', 'nodejs_external_memory_bytes', 'Memory outside of the heap that objects hold.', external),
      family('counter', 'process_cpu_seconds_total', 'Processor time.', (user + system) / 1e6),
      family('gauge', 'headgate_processes', 'Processes that these metrics are of.', 1),
      { ...family('gauge', 'headgate_build_info', 'The version.'), samples: [[labels({ version }), 1]], ...highest }
    ]
  }
}

/** Without a tick since the last time there is nothing to say, and huge numbers stand for it. */
function lagSeconds (nanoseconds: number): number {
  const ms = nanoseconds / 1e6 - tickMs
  return ms > 0 && ms < 86_400_000 ? ms / 1000 : 0
}
