/**
 * Preloaded into a process with `node --import`: measures the delay of its event loop, and writes it to the
 * file named by `BENCH_LOOP_FILE`, in milliseconds, whenever it gets SIGUSR2.
 */

import { writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface LoopDelay { readonly p99: number, readonly max: number }

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()

process.on('SIGUSR2', () => {
  const seen: LoopDelay = { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 }
  delay.reset()
  writeFileSync(process.env['BENCH_LOOP_FILE'] ?? '/dev/null', JSON.stringify(seen))
})
