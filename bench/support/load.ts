/**
 * The callers: raw sockets that send one prepared request after another and check every answer.
 *
 * Runs as a child of `compare`: receives a `Job` as a message, sends `begin` once it is warm, then `result`
 * or `failed`. One job at a time.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { laneCheck, type LaneExpected } from './lane-check.ts'
import { Caller, type CallerOptions } from './caller.ts'
import { percentile } from '../../lib/load/percentile.ts'

export interface Job {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string
  readonly body: string
  readonly expected: LaneExpected
  readonly callers: number
  readonly warmUpMs: number
  readonly durationMs: number
  /**
   * `loop`: each caller calls again as soon as it has its answer. `hold`: each calls once, and the time
   * counts from when all have their first byte. `deaf`: as `hold`, but without reading.
   */
  readonly mode: 'loop' | 'hold' | 'deaf'
  /**
   * The time over which callers who `loop` start, evenly, in milliseconds. Default: all start at once, and
   * stay in step if all answers take equally long.
   */
  readonly spreadMs?: number
}

/** Latencies in milliseconds; those of events from their time stamp to here. */
export interface JobResult {
  readonly requests: number
  readonly frames: number
  readonly seconds: number
  readonly latency: Latency
  readonly firstByte: Latency
  readonly event: Latency
}

export interface Latency { readonly p50: number, readonly p99: number, readonly count: number }

export type LoadMessage =
  | { readonly type: 'begin' }
  | { readonly type: 'result', readonly result: JobResult }
  | { readonly type: 'failed', readonly message: string }

/** A job may exceed its own time by at most this. */
const graceMs = 20_000

process.on('message', (job: Job) => {
  run(job).then(
    result => send({ type: 'result', result }),
    (error: unknown) => send({ type: 'failed', message: String(error) })
  )
})
process.on('disconnect', () => process.exit(0))

function send (message: LoadMessage): void {
  process.send?.(message)
}

async function run (job: Job): Promise<JobResult> {
  const check = laneCheck(job.expected)
  const options: CallerOptions = { ...job, check, request: requestBytes(job) }
  const callers = Array.from({ length: job.callers }, () => new Caller(options))
  const limit = new AbortController()
  const timer = setTimeout(
    () => limit.abort(new Error('the answers do not come')),
    job.warmUpMs + job.durationMs + graceMs
  )
  try {
    await Promise.race([
      job.mode === 'loop' ? loop(callers, job) : hold(callers, job),
      new Promise((_, reject) => {
        limit.signal.addEventListener('abort', () => reject(limit.signal.reason as Error))
      })
    ])
    return summary(callers)
  } finally {
    clearTimeout(timer)
    for (const caller of callers) caller.close()
  }
}

/** Warm-up and measurement each end when every started answer is complete. */
async function loop (callers: readonly Caller[], { warmUpMs, durationMs, spreadMs = 0 }: Job): Promise<void> {
  const all = async (ms: number): Promise<void> => {
    const untilMs = performance.now() + ms
    await Promise.all(callers.map(async (caller, index) => {
      if (spreadMs > 0) await sleep(spreadMs * index / callers.length)
      await caller.loop(untilMs)
    }))
  }
  await all(warmUpMs)
  for (const caller of callers) caller.forget()
  send({ type: 'begin' })
  await all(durationMs)
}

async function hold (callers: readonly Caller[], { durationMs, mode }: Job): Promise<void> {
  // Not all at once: a listen queue is shorter than that.
  for (let at = 0; at < callers.length; at += 50) {
    await Promise.all(callers.slice(at, at + 50).map(async caller => await caller.open(mode === 'deaf')))
  }
  for (const caller of callers) caller.forget()
  send({ type: 'begin' })
  await new Promise(resolve => { setTimeout(resolve, durationMs) })
  const cut = callers.filter(caller => caller.closed)
  if (cut.length > 0) throw new Error(`${cut.length} of ${callers.length} streams were cut`)
}

function requestBytes ({ path, headers, contentType, body }: Job): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines}content-type: ${contentType}\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

function summary (callers: readonly Caller[]): JobResult {
  const latency = (of: (caller: Caller) => readonly number[]): Latency => {
    const values = callers.flatMap(of).toSorted((a, b) => a - b)
    return { p50: percentile(values, 0.5), p99: percentile(values, 0.99), count: values.length }
  }
  return {
    requests: callers.reduce((sum, { latencies }) => sum + latencies.length, 0),
    frames: callers.reduce((sum, { frames }) => sum + frames, 0),
    seconds: Math.max(...callers.map(({ seconds }) => seconds)),
    latency: latency(caller => caller.latencies),
    firstByte: latency(caller => caller.firstBytes),
    event: latency(caller => caller.events)
  }
}
