/** Checks the table of metrics in docs/operations.md against the code that counts. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { refusals } from '../../lib/limits/limit-table.ts'
import { CallRecord, type Outcome } from '../../lib/core/record.ts'
import { CallMetrics } from '../../lib/telemetry/call-metrics.ts'
import { familyName } from '../../lib/telemetry/metric-families.ts'
import { Metrics } from '../../lib/telemetry/metrics.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { testGateway } from '../support/gateway.ts'
import { otlpSettings, settings } from '../support/settings.ts'
import { fillRecord } from '../support/fill-record.ts'

const rows = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8')
  .split('\n').filter(line => /^\| `(?:headgate|gen_ai)_/.test(line))

/** Returns the second cell of the row for a metric. */
function cellOf (metric: string): string {
  return rows.find(row => row.split(' | ')[0]?.includes(`\`${metric}\``))?.split(' | ')[1] ?? ''
}

function codeIn (text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
}

t.test('the table lists every metric of the gateway, and no others', async t => {
  const empty = { bounds: [], counts: [0], sum: 0 }
  const silent = (): void => undefined
  const coordination = {
    load: () => ({ isUnreachable: false, decidedAlone: 0, commands: empty }),
    cooldowns: { listen: silent, report: silent },
    notifyOfTasks: silent,
    onTasks: silent
  }
  const telemetry = { maxSampledPerSecond: 1, otlp: otlpSettings('http://127.0.0.1:1') }
  const directory = t.testdir()
  const exports = { files: { directory, format: 'csv', gzip: false, every: 'day' } } as const
  const database = await openDatabase(directory)
  t.teardown(database.close)
  const { gateway } = await testGateway(
    t,
    { telemetry, usage: { ...settings().usage, exports } },
    {},
    { coordination, database: { ...database, queries: () => empty } }
  )
  const names = new Metrics(
    () => gateway,
    () => ({ logsDropped: 0, metricsFailed: 0 })
  )
    .families()
    .map(familyName)
    .filter(name => /^(?:headgate|gen_ai)_/.test(name))
  t.same(rows.flatMap(row => codeIn(row.split(' | ')[0] ?? '')).toSorted(), names.toSorted())
})

t.test('the documented values of `limit` are the names of the limits', async t => {
  t.same(codeIn(cellOf('headgate_limits_refused_total')), ['limit', ...refusals])
})

t.test('every value of `limit`, `outcome` and `direction` is documented', async t => {
  const metrics = new CallMetrics(
    () => true,
    () => undefined
  )
  const outcomes: Record<Outcome, true> = {
    ok: true,
    error: true,
    client_closed: true,
    client_too_slow: true
  }
  for (const outcome of Object.keys(outcomes) as Outcome[]) {
    // the keys of a record of outcomes
    for (const refusedBy of refusals) {
      const record = fillRecord(new CallRecord('chat'), {
        end: { outcome },
        limits: { refusedBy },
        routing: { modelId: 'openai/gpt-5', providerId: 'openai' }
      })
      metrics.observe(
        { record, receivedAtMs: performance.now() },
        { prompt_tokens: 1, completion_tokens: 1, cached_tokens: 0, cost_nano_usd: 0 }
      )
    }
  }
  const values = (metric: string, label: string): Set<string> => {
    const samples = metrics.families().find(({ name }) => name === metric)?.samples ?? []
    return new Set(samples.map(({ labels }) => labels[label] ?? ''))
  }
  for (const [metric, label, count] of [
    ['headgate_limits_refused_total', 'limit', refusals.length],
    ['headgate_calls_total', 'outcome', 4],
    ['headgate_tokens_total', 'direction', 2]
  ] as const) {
    const sent = values(metric, label)
    t.equal(sent.size, count, `${metric} has ${count} values of ${label}`)
    t.same(
      [...sent].filter(value => !codeIn(cellOf(metric)).includes(value)),
      [],
      `${metric} in docs/operations.md`
    )
  }
})
