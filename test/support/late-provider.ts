/**
 * A provider in a separate thread that writes unrequested responses. The test waits for them without
 * returning to its event loop, so that they are in the kernel, unread, when it continues.
 */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Test } from 'tap'

export interface LateProvider {
  readonly url: string
  /** Writes an unrequested response to every open connection. Blocks this thread until all are written. */
  readonly writeUnrequested: () => void
}

/**
 * Starts the provider: it answers its n-th request with the text `answer n`; the unrequested responses say
 * `stray`.
 */
export async function startLateProvider (t: Test): Promise<LateProvider> {
  const written = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL('late-provider-worker.js', import.meta.url), { workerData: written })
  t.teardown(async () => { await worker.terminate() })
  const [port] = await once(worker, 'message') as [number]
  return {
    url: `http://127.0.0.1:${port}`,
    writeUnrequested: () => {
      worker.postMessage('write')
      if (Atomics.wait(written, 0, 0, 5000) === 'timed-out') throw new Error('the provider wrote nothing')
      Atomics.store(written, 0, 0)
    }
  }
}
