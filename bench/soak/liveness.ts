/** Measures how long others wait for a gateway while it is attacked. */

import { once } from 'node:events'
import { availableParallelism, loadavg } from 'node:os'
import { Worker } from 'node:worker_threads'
import { Agent, request } from 'undici'

/**
 * Returns how much longer everything takes than on a quiet machine: as each process waits for a processor.
 */
export function loadFactor (): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism())
}

/**
 * Returns the longest wait for `/livez` that counts as no stall, in milliseconds: a second on a quiet
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
 * Asks `/livez` every few milliseconds until it is stopped. From a thread of its own: this one sends
 * the attack, and would measure itself.
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

/** Waits for `/livez` again and again until `over` is aborted. @returns the longest wait in milliseconds */
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
