/** Counts tokens in a thread: one job at a time, one answer for each, in order. */

import { parentPort } from 'node:worker_threads'
import { findExcess } from './count-tokens.ts'
import type { CountJob } from './token-counter.ts'

parentPort?.on('message', ({ texts, limits }: CountJob) => {
  parentPort?.postMessage({ excess: findExcess(texts, limits) })
})
