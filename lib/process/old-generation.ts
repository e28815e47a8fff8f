/**
 * Lets old space grow by 60 % of what is alive before V8 collects it, and by 200 % while that would make full collections frequent.
 *
 * V8 would let it grow by up to 300 %. At full load calls leave little there, mostly connections that had been promoted before they ended, but
 * what old space has grown to stays with the process: 40 MB more than it needs where 22 MB are alive. With 60 % full collections are seconds apart,
 * and pause the process for some 5 ms. Bytes outside the heap count as growth too, and recordings and vectors bring many: one full collection
 * for 15 MB of them with 60 %, one for 50 MB with 200 %.
 */

import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import { property } from '../json/guards.ts'
import { isGiven, setV8Flag } from './set-v8-flag.ts'

/** Percent of what is alive by which old space may grow, from the start on (`v8-flags`). */
export const usualGrowth = 60
/** The same while full collections would be frequent. */
const moreGrowth = 200
/**
 * So many full collections within this time are frequent. Recordings cause twenty a second, which take a third of the CPU time; without them
 * three never came within less than 700 ms in the benchmarks, from the start of a process on.
 */
const [frequent, frequentMs] = [3, 500]
/** Uploads come at intervals: the four full collections, 30 ms, after which more growth is allowed, come once a minute then, not with each burst. */
const keepMoreMs = 60_000

/** Keeps V8 from marking what is alive ahead of a full collection. */
export const noMarking = '--no-incremental-marking'
/** By then the start and the first calls are over. */
const startMs = 1_000

/**
 * Keeps V8 from marking ahead of a full collection during the first second of a process. It would begin at 13 MB, most of which are modules and
 * stay. This costs 30 ms where the process has one processor: the marking threads take it from the start. If the heap reaches its limit, V8
 * still collects, all at once.
 */
export function collectAfterStart (): void {
  setV8Flag(noMarking)
  setTimeout(() => setV8Flag('--incremental-marking'), startMs).unref()
}

/**
 * Watches each full collection from now on: V8 uses what is set after it at the end of the next one. An operator who has given the
 * percentage has it.
 *
 * @param keepMs milliseconds after full collections were frequent for the last time until the growth is the usual one again
 */
export function boundOldGeneration (keepMs = keepMoreMs): void {
  if (isGiven(['--heap-growing-percent'])) return
  let areFrequent = frequencyOfCollections()
  let timer: NodeJS.Timeout | undefined
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) {
      if (!isFull(entry)) continue
      if (areFrequent(entry.startTime)) {
        timer ??= setTimeout(() => {
          timer = undefined
          areFrequent = frequencyOfCollections()
          setGrowth(usualGrowth)
        }, keepMs).unref()
        timer.refresh()
      }
      setGrowth(timer === undefined ? usualGrowth : moreGrowth)
    }
  }).observe({ type: 'gc' })
}

/** Returns a function to call with the time of each full collection, in milliseconds, which returns whether they are frequent. */
export function frequencyOfCollections (): (atMs: number) => boolean {
  const lastMs: number[] = []
  return atMs => {
    lastMs.push(atMs)
    if (lastMs.length > frequent) lastMs.shift()
    return lastMs.length === frequent && atMs - (lastMs[0] ?? atMs) < frequentMs
  }
}

function setGrowth (percent: number): void {
  setV8Flag(`--heap-growing-percent=${percent}`)
}

function isFull (entry: PerformanceEntry): boolean {
  return property(property(entry, 'detail'), 'kind') === constants.NODE_PERFORMANCE_GC_MAJOR
}
