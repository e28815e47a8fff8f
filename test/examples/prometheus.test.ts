/**
 * Checks the dashboard and the alerts in examples/ against the existing metrics, and with promtool if it is
 * installed.
 */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { CallMetrics } from '../../lib/telemetry/call-metrics.ts'
import {
  familyName,
  mergeFamilies,
  printFamilies,
  type Family
} from '../../lib/telemetry/metric-families.ts'
import { Metrics } from '../../lib/telemetry/metrics.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { noteUsage } from '../../lib/core/usage-facts.ts'
import { GuardFindings } from '../../lib/core/guard-findings.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { route } from '../support/routes.ts'
import { otlpSettings } from '../support/settings.ts'
import type { Test } from 'tap'
import { fillRecord } from '../support/fill-record.ts'

const examples = join(import.meta.dirname, '../../../examples')
const rulesFile = join(examples, 'alerts.yaml')

interface Rules {
  readonly groups: ReadonlyArray<{
    readonly rules: ReadonlyArray<{
      readonly alert: string
      readonly expr: string
      readonly annotations: { readonly summary: string }
    }>
  }>
}
interface Dashboard {
  readonly panels: ReadonlyArray<{
    readonly title: string
    readonly type: string
    readonly targets?: ReadonlyArray<{ readonly expr: string, readonly legendFormat: string }>
  }>
  readonly templating: {
    readonly list: ReadonlyArray<{
      readonly name: string
      readonly query: string | { readonly query: string }
    }>
  }
}

// our own files
const rules = (parse(readFileSync(rulesFile, 'utf8')) as Rules).groups.flatMap(group => group.rules)
const { panels, templating } = JSON.parse(readFileSync(join(examples, 'grafana.json'), 'utf8')) as Dashboard
const variables = templating.list.flatMap(({ query }) => (typeof query === 'string' ? [] : query.query))
const queries = [
  ...rules.map(({ expr }) => expr),
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...variables
]

/** Returns all metrics of a gateway that uses every feature, with calls of each kind. */
async function allFamilies (t: Test): Promise<Family[]> {
  const times = { bounds: [1], counts: [1, 1], sum: 3 }
  const silent = (): void => undefined
  const coordination = {
    load: () => ({ isUnreachable: false, decidedAlone: 0, commands: times }),
    cooldowns: { listen: silent, report: silent },
    notifyOfTasks: silent,
    onTasks: silent
  }
  const database = await openDatabase(t.testdir())
  t.teardown(database.close)
  const telemetry = { maxSampledPerSecond: 1, otlp: otlpSettings('http://127.0.0.1:1') }
  const { gateway } = await testGateway(
    t,
    { telemetry, providers: [upstreamAt('http://127.0.0.1:1', 'one')] },
    {},
    { coordination, database: { ...database, queries: () => times } }
  )
  const calls = new CallMetrics(
    () => true,
    () => 'openai'
  )
  const findings = new GuardFindings()
  findings.noteInspection('pii', 'request', 1)
  findings.note('pii', 'request', 'mask')
  const request = {
    route: route('one/a'),
    startedAtMs: 1,
    outcomeAtMs: 2,
    endedAtMs: 2,
    reason: undefined,
    status: undefined
  }
  const record = fillRecord(new CallRecord('chat'), {
    request: { isStreamed: true },
    times: { firstByteMs: 1, overheadMs: 1 },
    routing: {
      modelId: 'one/a',
      providerId: 'one',
      cache: 'hit' as const,
      attempts: [request],
      unusedRoutes: [{ route: route('one/b'), reason: 'circuit open' }]
    },
    end: { status: 200, errorCode: 'invalid_api_key' },
    guards: { findings },
    limits: { refusedBy: 'tokens' as const }
  })
  noteUsage(record.usage, { promptTokens: 1, completionTokens: 1, totalTokens: 2 }, undefined)
  calls.observe(
    { record, receivedAtMs: 0 },
    { prompt_tokens: 1, completion_tokens: 1, cached_tokens: 0, cost_nano_usd: 0 }
  )
  return mergeFamilies([
    new Metrics(
      () => gateway,
      () => ({ logsDropped: 0, metricsFailed: 0 })
    ).families(),
    calls.families()
  ])
}

t.test('the dashboard and the alerts use only existing metrics and labels', async t => {
  const families = await allFamilies(t)
  const labelsOf = new Map(
    families.map(family => [
      familyName(family),
      new Set(
        family.samples.flatMap(({ labels }) => Object.keys(labels).map(name => name.replaceAll('.', '_')))
      )
    ])
  )
  const histograms = new Set(families.filter(({ type }) => type === 'histogram').map(familyName))
  t.ok(queries.length > 50)
  for (const query of queries) {
    const used = [
      ...query.matchAll(
        /\b((?:headgate|gen_ai_client|nodejs|process)_[a-z0-9_]+?)(_bucket|_sum|_count)?(?=[{[)\s,]|$)(?:\{([^}]*)\})?/g
      )
    ]
    t.not(used.length, 0, query)
    for (const [, name = '', part, matchers = ''] of used) {
      const known = labelsOf.get(name)
      t.ok(known, `${name} in ${query}`)
      t.equal(part === undefined, !histograms.has(name), `${name}${part ?? ''}: histograms have parts`)
      const grouped = [...query.matchAll(/\bby \(([a-z_, ]+)\)/g)]
        .flatMap(([, labels = '']) => labels.split(', '))
        .filter(label => label !== 'le')
      const matched = [...matchers.matchAll(/([a-z_]+)(?:=|!=|=~|!~)"/g)].map(([, label = '']) => label)
      // A gauge without a value has no labels either.
      if (known !== undefined && known.size > 0) {
        t.same(
          [...grouped, ...matched].filter(label => !known.has(label)),
          [],
          `labels of ${name} in ${query}`
        )
      }
    }
  }
})

t.test('legends and summaries use only labels by which the query groups', async t => {
  const shown = [
    ...panels.flatMap(({ targets = [] }) =>
      targets.map(({ expr, legendFormat }) => [expr, legendFormat] as const)
    ),
    ...rules.map(({ expr, annotations }) => [expr, annotations.summary] as const)
  ]
  for (const [expr, text] of shown) {
    for (const [, label = ''] of text.matchAll(/\{\{ ?(?:\$labels\.)?([a-z_]+) ?\}\}/g)) {
      const grouped = [...expr.matchAll(/\bby \(([a-z_, ]+)\)/g)].flatMap(([, labels = '']) =>
        labels.split(', ')
      )
      const known = grouped.length > 0 ? grouped : ['certificate'] // of the only alert that does not group
      t.ok(known.includes(label), `${text}: ${expr}`)
    }
  }
})

t.test('each panel except rows has a query, and each alert a unique name', async t => {
  for (const { title, type, targets = [] } of panels) t.equal(targets.length > 0, type !== 'row', title)
  t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
})

const promtool = process.env['HEADGATE_TEST_PROMTOOL']

t.test(
  "Prometheus' own tool",
  { skip: promtool === undefined && 'HEADGATE_TEST_PROMTOOL is not the path of promtool' },
  async t => {
    const run = (args: readonly string[], input?: string): { status: number | null, output: string } => {
      const { status, stdout, stderr } = spawnSync(promtool ?? '', args, { input, encoding: 'utf8' })
      return { status, output: stdout + stderr }
    }

    t.test('promtool accepts the alerts and the metrics', async t => {
      const checked = run(['check', 'rules', rulesFile])
      t.equal(checked.status, 0, checked.output)
      const metrics = run(['check', 'metrics'], printFamilies(await allFamilies(t)))
      t.equal(metrics.status, 0, metrics.output)
    })

    t.test('promtool confirms that the alerts fire when they should, and not before', async t => {
      const calls = (status: string, values: string) => ({
        series: `headgate_calls_total{status="${status}"}`,
        values
      })
      const firing = (
        alertname: string,
        evalTime: string,
        isFiring: boolean,
        labels: object = {},
        severity = 'critical',
        summary = ''
      ) => ({
        alertname,
        eval_time: evalTime,
        exp_alerts: isFiring ? [{ exp_labels: { severity, ...labels }, exp_annotations: { summary } }] : []
      })
      const directory = t.testdir({
        'alerts.test.yaml': stringify({
          rule_files: [rulesFile],
          evaluation_interval: '1m',
          tests: [
            {
              interval: '1m',
              input_series: [
                calls('200', '0+90x30'),
                calls('503', '0+0x10 0+10x20'),
                { series: 'headgate_processes', values: '1x30' }
              ],
              alert_rule_test: [
                firing('HeadgateErrors', '10m', false),
                firing(
                  'HeadgateErrors',
                  '25m',
                  true,
                  {},
                  'critical',
                  '10% of the calls end with an error of the gateway or of a provider.'
                ),
                firing('HeadgateDown', '20m', false)
              ]
            },
            {
              interval: '1m',
              input_series: [
                { series: 'headgate_attempts_total{provider="one",outcome="ok"}', values: '0+10x40' },
                {
                  series: 'headgate_attempts_total{provider="one",outcome="upstream_error"}',
                  values: '0+30x40'
                },
                { series: 'headgate_attempts_total{provider="two",outcome="ok"}', values: '0+30x40' },
                { series: 'headgate_ledger_rows_dropped_total', values: '0x20 5x20' },
                { series: 'headgate_degraded{part="configuration"}', values: '0x10 1x30' }
              ],
              alert_rule_test: [
                firing(
                  'HeadgateProviderFails',
                  '35m',
                  true,
                  { provider: 'one' },
                  'warning',
                  '75% of the requests to one fail.'
                ),
                firing('HeadgateUsageRecordsLost', '15m', false),
                firing(
                  'HeadgateConfigurationInvalid',
                  '30m',
                  true,
                  {},
                  'warning',
                  'A change of the configuration cannot be used; the one before stays in effect.'
                ),
                firing('HeadgateDegraded', '30m', false),
                firing(
                  'HeadgateDown',
                  '30m',
                  true,
                  {},
                  'critical',
                  'No gateway answers the scrape of its metrics.'
                )
              ]
            }
          ]
        })
      })
      const tested = run(['test', 'rules', join(directory, 'alerts.test.yaml')])
      t.equal(tested.status, 0, tested.output)
    })
  }
)
