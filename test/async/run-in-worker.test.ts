import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../support/until.ts'
import { hasUnendedThreads, runInWorker } from '../../lib/async/run-in-worker.ts'

const resourceLimits = { maxOldGenerationSizeMb: 16 }
const limits = { limitMs: 60_000, resourceLimits, signal: new AbortController().signal }
const module = (code: string): URL =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`import { parentPort, workerData } from 'node:worker_threads'; ${code}`)}`
  )
const endless = module('for (;;);')

t.test('a job receives its data and returns its message', async t => {
  t.same(
    await runInWorker(module('parentPort.postMessage({ ...workerData, b: 2 })'), {
      ...limits,
      workerData: { a: 1 }
    }),
    { a: 1, b: 2 }
  )
})

t.test('a job that fails, returns nothing, or exceeds its time or memory gives undefined', async t => {
  for (const code of ['throw new Error()', '', 'const list = []; for (;;) list.push([list.length])']) {
    t.equal(await runInWorker(module(code), { ...limits, workerData: undefined }), undefined, code)
  }
  t.equal(await runInWorker(endless, { ...limits, limitMs: 1, workerData: undefined }), undefined)
})

t.test('aborting the signal ends the job', async t => {
  const caller = new AbortController()
  const run = runInWorker(endless, { ...limits, signal: caller.signal, workerData: undefined })
  caller.abort(new Error('gone'))
  await t.rejects(run, { message: 'gone' })
  await t.rejects(runInWorker(endless, { ...limits, signal: caller.signal, workerData: undefined }), {
    message: 'gone'
  })
})

t.test('a thread that does not terminate is not waited for', async t => {
  const pipe = join(t.testdir({}), 'pipe')
  execFileSync('mkfifo', [pipe])
  const blocked = module(`import { readFileSync } from 'node:fs'; readFileSync(${JSON.stringify(pipe)})`)
  const caller = new AbortController()
  const run = runInWorker(blocked, { ...limits, signal: caller.signal, workerData: undefined })
  t.equal(await runInWorker(blocked, { ...limits, limitMs: 500, workerData: undefined }), undefined)
  caller.abort(new Error('gone'))
  await t.rejects(run, { message: 'gone' })
  t.ok(hasUnendedThreads())
  await until(() => {
    letGo(pipe)
    return !hasUnendedThreads()
  }, 'the threads to end')
})

/** Ends a blocked read of the pipe, if there is one. */
function letGo (pipe: string): void {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENXIO')) throw error
  }
}
