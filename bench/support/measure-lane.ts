/** Runs one lane against one contender: the callers' results, and the cost for the gateway. */

import { fileURLToPath } from 'node:url'
import { path, type Contender, type Running } from './contenders.ts'
import { tls } from './certificate.ts'
import { cpuUs, rssBytes } from '../../lib/load/process-cost.ts'
import { cores, freePort, start, type Started } from './processes.ts'
import type { Lane } from './lanes.ts'
import type { Job, JobResult, LoadMessage } from './load.ts'

export interface Sample extends JobResult {
  /** CPU time of the gateway process; of the mock if callers call it directly. */
  readonly cpuUsPerUnit: number
  readonly unitsPerSecond: number
  readonly rssBytes: number
  /** Growth of memory during the job. */
  readonly grownBytes: number
}

export interface Times {
  readonly warmUpMs: number
  readonly durationMs: number
}

/** Starts the callers' process. */
export async function startLoad (): Promise<Started> {
  const file = fileURLToPath(new URL('load.js', import.meta.url))
  return await start(
    { file: process.execPath, args: [file], cores: cores.load, messages: true },
    async () => true
  )
}

/** Starts the mock that all contenders forward to. */
export async function startMock (): Promise<{ upstreamPort: number, mock: Started }> {
  const port = await freePort()
  const secure = tls === undefined ? [] : [String(tls.port), tls.key, tls.certificate]
  const file = fileURLToPath(new URL('mock.js', import.meta.url))
  const started = await start(
    { file: process.execPath, args: [file, String(port), ...secure], cores: cores.mock },
    async () =>
      await fetch(`http://127.0.0.1:${port}/`).then(
        ({ ok }) => ok,
        () => false
      )
  )
  return { upstreamPort: port, mock: started }
}

/**
 * @param target the address for callers, and the process whose costs count
 * @throws Error if an answer was wrong, lost or late
 */
export async function measureLane (
  load: Started,
  lane: Lane,
  contender: Contender,
  target: Pick<Running, 'port' | 'pid'>,
  upstreamPort: number,
  times: Times
): Promise<Sample> {
  const headers = { ...contender.headers(upstreamPort), ...lane.headers }
  const job: Job = {
    path,
    contentType: 'application/json',
    ...(contender.adapt?.(lane) ?? lane),
    ...times,
    port: target.port,
    headers
  }
  const rssBefore = rssBytes(target.pid)
  let cpuBefore = 0
  const { result, cpu, rss } = await new Promise<{ result: JobResult, cpu: number, rss: number }>(
    (resolve, reject) => {
      const onMessage = (message: LoadMessage): void => {
        switch (message.type) {
          case 'begin':
            cpuBefore = cpuUs(target.pid)
            return
          case 'result':
            resolve({
              result: message.result,
              cpu: cpuUs(target.pid) - cpuBefore,
              rss: rssBytes(target.pid)
            })
            break
          case 'failed':
            reject(new Error(`${lane.name}, ${contender.name}: ${message.message}`))
        }
        load.process.off('message', onMessage)
      }
      load.process.on('message', onMessage)
      load.process.send(job)
    }
  )
  const units = unitsOf(lane, result)
  return {
    ...result,
    cpuUsPerUnit: cpu / units,
    unitsPerSecond: units / (lane.mode === 'loop' ? result.seconds : times.durationMs / 1000),
    rssBytes: rss,
    grownBytes: rss - rssBefore
  }
}

function unitsOf ({ unit, mode, megabytes = 0 }: Lane, { requests, frames, event }: JobResult): number {
  switch (unit) {
    case 'request':
      return requests
    case 'MB':
      return requests * megabytes
    // A stream still open at the end has no counted frames, only events.
    case 'event':
      return mode === 'loop' ? frames : event.count
  }
}
