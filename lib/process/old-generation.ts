/**
 * Lets old space grow by 60 % of what is alive before V8 collects it, and by 200 % while that would make full collections frequent.
 *
 * V8 would let it grow by up to 300 %. At full load calls leave little there, connections that ended when they were no longer young above all, but
 * what old space has grown to stays with the process: 40 MB more than it needs where 22 MB are alive. With 60 % full collections are seconds apart,
 * and pause the process for some 5 ms. Bytes outside the heap count as growth too, and recordings and vectors bring many: one full collection
 * for 15 MB of them with 60 %, one for 50 MB with 200 %.
 */

import { constants, PerformanceObserver, type NodeGCPerformanceDetail, type PerformanceEntry } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { isGiven } from './set-v8-flag.ts'

/** Percent of what is alive. */
const [little, much] = [60, 200]
/** So many full collections within this time are frequent; a process that starts needs three or four. */
const [frequent, frequentMs] = [6, 3_000]
/** After this time without one they are rare. */
const rareMs = 5_000

/** Watches each full collection from now on. An operator who has given the percentage has it. */
export function boundOldGeneration (): void {
  if (isGiven(['--heap-growing-percent'])) return
  const choose = growthChooser()
  let growth = little
  setGrowth(growth)
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) {
      if (!isFull(entry)) continue
      const chosen = choose(entry.startTime)
      if (chosen === growth) continue
      growth = chosen
      setGrowth(growth)
    }
  }).observe({ type: 'gc' })
}

/**
 * Returns a function to call with the time of each full collection, in milliseconds, which returns by how much old space may grow after
 * the next ones, in percent.
 */
export function growthChooser (): (atMs: number) => number {
  let growth = little
  const lastMs: number[] = []
  return atMs => {
    const previousMs = lastMs.at(-1) ?? atMs
    lastMs.push(atMs)
    if (lastMs.length > frequent) lastMs.shift()
    if (lastMs.length === frequent && atMs - (lastMs[0] ?? atMs) < frequentMs) growth = much
    else if (atMs - previousMs > rareMs) growth = little
    return growth
  }
}

function setGrowth (percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}

function isFull (entry: PerformanceEntry): boolean {
  // The types of Node.js do not have what entries of collections say.
  const { detail } = entry as { readonly detail?: NodeGCPerformanceDetail }
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}
