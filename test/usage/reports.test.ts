import { mock } from 'node:test'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { Reports } from '../../lib/usage/reports.ts'
import type { Test } from 'tap'

async function open (t: Test): Promise<Reports> {
  const database = await openDatabase(t.testdir())
  const reports = new Reports(database)
  t.teardown(async () => {
    await reports.close()
    await database.close()
  })
  return reports
}

const request = async (reports: Reports): Promise<string> =>
  await reports.make('endedCalls', {}, { afterMs: 0, seen: new Set<string>(), limit: 1 }).then(
    () => 'made',
    (error: Error) => error.message
  )

t.test('a report that takes too long is ended, however many are requested meanwhile', async t => {
  const reports = await open(t)
  t.intercept(Worker.prototype, 'postMessage', { value: () => undefined }) // the thread never finishes
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const ends: string[] = []
  const requestNext = (): void => { void request(reports).then(end => ends.push(end)) }
  requestNext()
  for (let second = 0; second < 14; second++) {
    mock.timers.tick(1000)
    requestNext()
  }
  await new Promise(resolve => { setImmediate(resolve) })
  t.same(ends, [])
  mock.timers.tick(1000)
  await new Promise(resolve => { setImmediate(resolve) })
  t.equal(ends.length, 15)
  t.match(ends[0], /takes too long/)
})

t.test(
  'each report has its own time limit, and an ended thread is replaced',
  async t => {
    const reports = await open(t)
    t.equal(await request(reports), 'made')
    const stuck = t.intercept(Worker.prototype, 'postMessage', { value: () => undefined })
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const ended = request(reports)
    mock.timers.tick(15_000)
    t.match(await ended, /takes too long/)
    stuck.restore()
    t.equal(await request(reports), 'made')
  }
)
