import { parentPort, workerData } from 'node:worker_threads'
import { slowestAnswer } from './liveness.ts'

const over = new AbortController()
parentPort?.once('message', () => over.abort())
parentPort?.postMessage(
  await slowestAnswer(String(workerData), over.signal, () => parentPort?.postMessage('ready'))
)
