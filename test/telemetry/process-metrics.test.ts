import t from 'tap'
import { version } from '../../lib/text/version.ts'
import { ProcessMetrics } from '../../lib/telemetry/process-metrics.ts'
import { until } from '../support/until.ts'

const valueOf = (families: ReturnType<ProcessMetrics['families']>, name: string): number =>
  families.find(family => family.name === name)?.samples.map(({ value }) => Number(value))[0] ?? Number.NaN

t.test('a process reports its version, memory and CPU time', async t => {
  const families = new ProcessMetrics().families()
  t.equal(valueOf(families, 'headgate_processes'), 1)
  t.match(families.find(({ name }) => name === 'headgate_build_info')?.samples, [
    { labels: { version }, value: 1 }
  ])
  for (const name of [
    'process_resident_memory_bytes',
    'nodejs_heap_size_used_bytes',
    'process_cpu_seconds_total'
  ]) {
    t.ok(valueOf(families, name) > 0, name)
  }
})

t.test('of several processes lag is the maximum, everything else the sum', async t => {
  const merged = new ProcessMetrics()
    .families()
    .filter(({ merge }) => merge === 'max')
    .map(({ name }) => name)
  t.same(merged, [
    'nodejs_eventloop_lag_p50_seconds',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_eventloop_lag_max_seconds',
    'headgate_build_info'
  ])
})

t.test('a blocked event loop has lag until it is read', async t => {
  const metrics = new ProcessMetrics()
  let lag = 0
  let turns = 0
  await until(() => {
    for (const end = performance.now() + 40; performance.now() < end;) JSON.stringify(end)
    if (++turns % 10 === 0) lag = valueOf(metrics.families(), 'nodejs_eventloop_lag_max_seconds')
    return lag > 0.01
  }, 'the lag to be seen')
  t.ok(lag < 60, `${lag} s`)
  metrics.families()
  t.equal(valueOf(metrics.families(), 'nodejs_eventloop_lag_max_seconds'), 0, 'nothing has happened since')
})
