/** Measures how long others wait for a gateway while it is attacked. */

import { once } from 'node:events'
import { availableParallelism, loadavg } from 'node:os'
import { Worker } from 'node:worker_threads'
import { Agent, request } from 'undici'

const steps = 1e8
/** Milliseconds that such a loop takes on the machines of bench/README.md. */
const usualMs = 60

/** How much longer such a loop takes here; measured once, and at least 1. */
let slowness: number | undefined

/**
 * Returns how much slower everything is than on an idle reference machine: waiting for a processor, and the
 * processor itself.
 */
export function loadFactor (): number {
  slowness ??= Math.max(1, measureLoop() / usualMs)
  return slowness * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism())
}

function measureLoop (): number {
  const startMs = performance.now()
  let sum = 0
  for (let step = 0; step < steps; step++) sum += step & 3
  if (sum < steps) throw new Error('the loop is left out')
  return performance.now() - startMs
}

/**
 * Returns the longest wait for `/livez` that is not a stall, in milliseconds: a second on an idle reference
 * machine.
 */
export function maxStallMs (): number {
  return 1000 * loadFactor()
}

export interface Liveness {
  /** Ends it, and returns the longest wait in milliseconds. */
  readonly stop: () => Promise<number>
}

/**
 * Requests `/livez` every few milliseconds until stopped. Runs in a separate thread: this one sends the
 * attack, and would measure itself.
 */
export async function watchLiveness (url: string): Promise<Liveness> {
  const worker = new Worker(new URL('liveness-worker.js', import.meta.url), { workerData: url })
  await once(worker, 'message') // the connection is open
  return {
    stop: async () => {
      const slowest = once(worker, 'message')
      worker.postMessage('stop')
      const [slowestMs] = await slowest
      await worker.terminate()
      return Number(slowestMs)
    }
  }
}

/**
 * Requests `/livez` repeatedly until `over` is aborted.
 * @returns the longest wait in milliseconds
 */
export async function slowestAnswer (url: string, over: AbortSignal, onFirst: () => void): Promise<number> {
  const agent = new Agent({ connections: 1, headersTimeout: 60_000 })
  const ask = async (): Promise<number> => {
    const sentMs = performance.now()
    await request(`${url}/livez`, { dispatcher: agent }).then(async ({ body }) => await body.text(), () => '')
    return performance.now() - sentMs
  }
  await ask()
  onFirst()
  let slowestMs = 0
  while (!over.aborted) {
    slowestMs = Math.max(slowestMs, await ask())
    await new Promise(resolve => { setTimeout(resolve, 5) })
  }
  await agent.destroy()
  return slowestMs
}
