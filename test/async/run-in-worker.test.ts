import t from 'tap'
import { runInWorker } from '../../lib/async/run-in-worker.ts'

const resourceLimits = { maxOldGenerationSizeMb: 16 }
const limits = { limitMs: 60_000, resourceLimits, signal: new AbortController().signal }
const module = (code: string): URL => new URL(`data:text/javascript,${encodeURIComponent(`import { parentPort, workerData } from 'node:worker_threads'; ${code}`)}`)
const endless = module('for (;;);')

t.test('a job gets its data, and its message is the result', async t => {
  t.same(await runInWorker(module('parentPort.postMessage({ ...workerData, b: 2 })'), { ...limits, workerData: { a: 1 } }), { a: 1, b: 2 })
})

t.test('a job that fails, ends without a result, takes too long or too much memory has none', async t => {
  for (const code of ['throw new Error()', '', 'const list = []; for (;;) list.push([list.length])']) t.equal(await runInWorker(module(code), { ...limits, workerData: undefined }), undefined, code)
  t.equal(await runInWorker(endless, { ...limits, limitMs: 1, workerData: undefined }), undefined)
})

t.test('a caller who leaves ends the job', async t => {
  const caller = new AbortController()
  const run = runInWorker(endless, { ...limits, signal: caller.signal, workerData: undefined })
  caller.abort(new Error('gone'))
  await t.rejects(run, { message: 'gone' })
  await t.rejects(runInWorker(endless, { ...limits, signal: caller.signal, workerData: undefined }), { message: 'gone' })
})
