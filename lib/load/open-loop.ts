/**
 * Sends load at a fixed rate: a call is sent when it is due, whether or not earlier calls have been answered,
 * and its time counts from when it was due. Callers who wait for their answers would send less to a slow
 * gateway, and hide how late it is.
 */

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { printable } from '../text/printable.ts'
import { AnswerCheck } from './answer-check.ts'
import { percentile } from './percentile.ts'
import { sendCall, type Target } from './send-call.ts'
import type { HttpLane } from './http-lanes.ts'

export interface LoadResult {
  readonly due: number
  readonly answered: number
  /** Calls without a right answer, by reason. */
  readonly failures: Readonly<Record<string, number>>
  /** Answers per second, from the first to the last. */
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** The sum of the costs in the answers; absent if an answer has none. */
  readonly costUsd?: number
}

/** Maximum open calls; due calls above this are not sent, and count as failed. */
const maxOpen = 2_000
const normalGraceMs = 10_000

interface Tally {
  readonly times: number[]
  readonly failures: Map<string, number>
  /** `NaN` once an answer lacks its cost. */
  costUsd: number
  firstMs: number
  lastMs: number
}

/**
 * Sends a number of calls, evenly spaced, and waits for their answers.
 *
 * @param perSecond the rate; `Infinity` to send all together
 */
export async function openLoop (
  target: Target, lane: HttpLane, { provider, count, perSecond, graceMs = normalGraceMs }: LoadOptions
): Promise<LoadResult> {
  const body = Buffer.from(lane.body(provider))
  const check = new AnswerCheck(lane.expected)
  const tally: Tally = { times: [], failures: new Map(), costUsd: 0, firstMs: Infinity, lastMs: 0 }
  const open = new Set<Promise<void>>()
  const ending = new AbortController()
  setMaxListeners(0, ending.signal) // one for each open call
  const startMs = performance.now()
  for (let index = 0; index < count; index++) {
    const dueMs = startMs + index * 1_000 / perSecond
    const waitMs = Math.ceil(dueMs - performance.now()) // a timer leaves out parts of a millisecond
    if (waitMs > 0) await sleep(waitMs)
    if (open.size >= maxOpen) {
      addFailure(tally, `not sent: ${maxOpen} calls are open`)
      continue
    }
    const call = sendCall(target, body, check, ending.signal)
      .then(({ firstByteMs, endMs, costUsd }) => {
        const untilMs = lane.until === 'end' ? endMs : firstByteMs
        tally.times.push(untilMs - dueMs)
        tally.firstMs = Math.min(tally.firstMs, endMs)
        tally.lastMs = endMs
        tally.costUsd += costUsd ?? NaN
      }, (error: unknown) => {
        addFailure(tally, ending.signal.aborted ? 'no answer in time' : reasonOf(error))
      })
      .finally(() => { open.delete(call) })
    open.add(call)
  }
  const grace = setTimeout(() => { ending.abort() }, graceMs)
  await Promise.all(open)
  clearTimeout(grace)
  return resultOf(tally, count)
}

export interface LoadOptions {
  /** The first part of the model's name. */
  readonly provider: string
  readonly count: number
  readonly perSecond: number
  /** Time for the answers that are missing once all calls are sent. Default: 10 s. */
  readonly graceMs?: number
}

/** Each may name another id: those beyond are counted together. */
const maxReasons = 20

function addFailure ({ failures }: Tally, given: string): void {
  const reason = failures.size < maxReasons || failures.has(given) ? given : 'other reasons'
  failures.set(reason, (failures.get(reason) ?? 0) + 1)
}

/** Returns one line: it may be the words of a gateway. */
function reasonOf (error: unknown): string {
  return printable(error instanceof Error ? error.message.slice(0, 200) : String(error))
}

function resultOf ({ times, failures, costUsd, firstMs, lastMs }: Tally, due: number): LoadResult {
  const sorted = times.toSorted((a, b) => a - b)
  return {
    due,
    answered: times.length,
    failures: Object.fromEntries(failures),
    perSecond: times.length < 2 ? 0 : (times.length - 1) * 1000 / (lastMs - firstMs),
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    maxMs: sorted.at(-1) ?? NaN,
    ...!Number.isNaN(costUsd) && times.length > 0 && { costUsd }
  }
}
