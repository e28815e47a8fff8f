/**
 * Preloaded into a gateway with `node --import`: measures the turns of its event loop, and writes the longest
 * to the file named by `SOAK_FILE` whenever the process gets SIGUSR2.
 *
 * A turn is the time between two runs of a timer of a millisecond. Its input time is the processor time of
 * the process in it, at most the turn itself, without the garbage collection pauses that V8 reports for it:
 * waiting for a processor, or collecting garbage of other calls, is not a delay caused by the input.
 */

import { renameSync, writeFileSync } from 'node:fs'
import { PerformanceObserver, performance } from 'node:perf_hooks'

export interface LongestTurn {
  /** Milliseconds spent on input. */
  readonly workMs: number
  /** Milliseconds from start to end of that turn. */
  readonly turnMs: number
  /** Milliseconds of garbage collection pauses in that turn. */
  readonly gcMs: number
  /** Milliseconds of its processor time in the kernel, which allocates memory there. */
  readonly kernelMs: number
  /** Pages of memory used for the first time in that turn. */
  readonly faults: number
  /** Longest sum of garbage collection pauses in one turn. */
  readonly maxGcMs: number
}

interface Turn {
  readonly fromMs: number
  readonly toMs: number
  readonly cpuMs: number
  readonly kernelMs: number
  readonly faults: number
}

/** Shorter turns are ignored. */
const shortMs = 3
const file = process.env['SOAK_FILE'] ?? '/dev/null'
let turns: Turn[] = []
let pauses: Array<{ readonly startTime: number, readonly duration: number }> = []

new PerformanceObserver(list => { pauses.push(...list.getEntries()) }).observe({ entryTypes: ['gc'] })

let fromMs = performance.now()
let used = process.resourceUsage()
setInterval(() => {
  const toMs = performance.now()
  const now = process.resourceUsage()
  if (toMs - fromMs > shortMs) {
    const kernelMs = (now.systemCPUTime - used.systemCPUTime) / 1000
    turns.push({
      fromMs,
      toMs,
      cpuMs: (now.userCPUTime - used.userCPUTime) / 1000 + kernelMs,
      kernelMs,
      faults: now.minorPageFault - used.minorPageFault
    })
  }
  fromMs = toMs
  used = now
}, 1).unref()

process.on('SIGUSR2', () => {
  // Pauses are reported in a later turn.
  setTimeout(() => {
    writeFileSync(`${file}.new`, JSON.stringify(longest()))
    renameSync(`${file}.new`, file)
    turns = []
    pauses = []
  }, 5)
})

function longest (): LongestTurn {
  const seen = turns.map(({ fromMs, toMs, cpuMs, kernelMs, faults }) => {
    const gcMs = pauses.reduce(
      (sum, { startTime, duration }) =>
        sum + Math.max(0, Math.min(toMs, startTime + duration) - Math.max(fromMs, startTime)),
      0
    )
    const turnMs = toMs - fromMs
    return { workMs: Math.max(0, Math.min(turnMs, cpuMs) - gcMs), turnMs, gcMs, kernelMs, faults }
  })
  const worst = seen.toSorted((one, other) => other.workMs - one.workMs)[0] ?? {
    workMs: 0,
    turnMs: 0,
    gcMs: 0,
    kernelMs: 0,
    faults: 0
  }
  return { ...worst, maxGcMs: Math.max(0, ...seen.map(({ gcMs }) => gcMs)) }
}
