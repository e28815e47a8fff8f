/**
 * Loaded into a gateway with `node --import`: notes how long the turns of its event loop take, and
 * writes the longest to the file named by `SOAK_FILE` whenever the process gets SIGUSR2.
 *
 * A turn is the time between two runs of a timer of a millisecond. What it took for its input is the
 * processor time of the process in it, no more than the turn itself, without the pauses of the
 * garbage collector that V8 reports for it: a process that waits for a processor, or collects what
 * other calls have left, has not been delayed by the input.
 */

import { renameSync, writeFileSync } from 'node:fs'
import { PerformanceObserver, performance } from 'node:perf_hooks'

export interface LongestTurn {
  /** Milliseconds spent on input. */
  readonly workMs: number
  /** Milliseconds from the start of that turn to its end. */
  readonly turnMs: number
  /** Milliseconds of pauses of the garbage collector in that turn. */
  readonly gcMs: number
  /** Milliseconds of its processor time in which the kernel ran, which is where it gives out memory. */
  readonly kernelMs: number
  /** Pages of memory that were used for the first time in that turn. */
  readonly faults: number
  /** Longest sum of pauses of the garbage collector in one turn. */
  readonly maxGcMs: number
}

interface Turn {
  readonly fromMs: number
  readonly toMs: number
  readonly cpuMs: number
  readonly kernelMs: number
  readonly faults: number
}

/** Shorter turns are not looked at. */
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
