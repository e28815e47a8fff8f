/** Measures the cost of a gateway's processes: from /proc, or from the metrics that most programs have. */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { readAnswer } from '../net/read-answer.ts'

export interface ProcessCost {
  /** CPU time so far, in microseconds. */
  readonly cpuUs: number
  readonly rssBytes: number
}

/** @throws Error when nothing can be read any more */
export type ReadCost = () => Promise<ProcessCost>

/** @throws Error with a reason, for a process that cannot be measured */
export function costOfProcess (pid: number): ReadCost {
  if (!existsSync('/proc/self/task')) throw new Error('this system has no /proc')
  if (!existsSync(`/proc/${pid}/task`)) throw new Error(`no process has the id ${pid}`)
  return async () => ({ cpuUs: cpuUs(pid), rssBytes: rssBytes(pid) })
}

const cpuMetric = 'process_cpu_seconds_total'
const memoryMetric = 'process_resident_memory_bytes'

/** Reads the metrics of Prometheus' client libraries, added up over all processes on the page. */
export function costOfMetrics (url: URL): ReadCost {
  return async () => {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) })
    const { status, ok, text } = await readAnswer(response)
    const [cpuSeconds, bytes] = [sumOf(text, cpuMetric), sumOf(text, memoryMetric)]
    if (!ok || cpuSeconds === undefined || bytes === undefined) {
      const names = `${cpuMetric} and ${memoryMetric}`
      throw new Error(`${url.href} (status ${status}) does not have ${names}`)
    }
    return { cpuUs: cpuSeconds * 1e6, rssBytes: bytes }
  }
}

function sumOf (text: string, name: string): number | undefined {
  const values = text.split('\n')
    .filter(line => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .map(line => line.slice(line.includes('}') ? line.lastIndexOf('}') + 1 : name.length).trim())
    .map(valueAndTime => Number(valueAndTime.split(' ')[0]))
    .filter(value => Number.isFinite(value))
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0)
}

/**
 * Returns the CPU time so far of a process and its children, user and system, of all running threads, in
 * microseconds.
 */
export function cpuUs (pid: number): number {
  const threads = family(pid).flatMap(id => (
    readdirSync(`/proc/${id}/task`).map(thread => `/proc/${id}/task/${thread}/schedstat`)
  ))
  // Nanoseconds; `stat` counts ticks of 10 ms, 4 % of a slice of a quarter of a second.
  return threads.reduce((sum, file) => sum + Number(readFileSync(file, 'latin1').split(' ')[0]) / 1000, 0)
}

/** Returns the resident memory of a process and its children, in bytes. */
export function rssBytes (pid: number): number {
  return family(pid).reduce((sum, id) => {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'latin1'))?.[1]
    return sum + Number(kilobytes ?? 0) * 1024
  }, 0)
}

function family (pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ')
  return [pid, ...children.filter(id => id !== '').flatMap(id => family(Number(id)))]
}
