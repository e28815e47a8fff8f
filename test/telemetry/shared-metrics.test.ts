import { EventEmitter } from 'node:events'
import t from 'tap'
import { answerMetricsMessages, SharedMetrics } from '../../lib/telemetry/shared-metrics.ts'
import type { Family } from '../../lib/telemetry/metric-families.ts'

const family = (name: string, type: Family['type'], value: number): Family => ({
  name,
  help: name,
  type,
  samples: [{ labels: {}, value }]
})

type Message = Parameters<NonNullable<Parameters<SharedMetrics['join']>[0]['send']>>[0]

/** Both ends of an IPC channel: each receives what the other sends. */
function ipcPair () {
  const [worker, primary] = [new EventEmitter(), new EventEmitter()]
  const end = (own: EventEmitter, other: EventEmitter) =>
    Object.assign(own, { send: (message: Message) => other.emit('message', message), connected: true })
  return { worker: end(worker, primary), primary: end(primary, worker) }
}

/** A worker that reports these numbers. */
function join (shared: SharedMetrics, calls: () => number, answers = true) {
  const { worker, primary } = ipcPair()
  if (answers) {
    answerMetricsMessages(primary, () => [
      family('calls', 'counter', calls()),
      family('memory', 'gauge', 10)
    ])
  }
  shared.join(worker)
  return worker
}

const values = (families: readonly Family[]): Record<string, unknown> =>
  Object.fromEntries(families.map(({ name, samples }) => [name, samples[0]?.value]))

t.test('the values of all workers are requested and added, ignoring other messages', async t => {
  const shared = new SharedMetrics()
  const worker = join(shared, () => 1)
  join(shared, () => 2)
  worker.emit('message', { limits: 'settle' })
  worker.emit('message', null)
  t.same(values(await shared.families()), { calls: 3, memory: 20 })
})

t.test('counters of an exited worker are kept, its gauges are not', async t => {
  const shared = new SharedMetrics()
  const leaving = join(shared, () => 5)
  join(shared, () => 1)
  await shared.families()
  leaving.emit('exit')
  t.same(values(await shared.families()), { calls: 6, memory: 10 })
})

t.test('concurrent requests share the values, and no worker gets two requests', async t => {
  const shared = new SharedMetrics()
  let requested = 0
  join(shared, () => ++requested)
  const [one, two] = await Promise.all([shared.families(), shared.families()])
  t.same(values(one), values(two))
  t.equal(requested, 1)
})

t.test('a worker that exits during a request keeps no one waiting', async t => {
  const shared = new SharedMetrics()
  const silent = join(shared, () => 0, false)
  join(shared, () => 3)
  const families = shared.families()
  silent.emit('exit')
  t.same(values(await families), { calls: 3, memory: 10 })
})

t.test('an unresponsive worker is waited for one second', async t => {
  const shared = new SharedMetrics()
  join(shared, () => 0, false)
  join(shared, () => 3)
  t.same(values(await shared.families()), { calls: 3, memory: 10 })
})
