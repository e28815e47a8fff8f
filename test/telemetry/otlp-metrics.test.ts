import t from 'tap'
import { createLog } from '../../lib/log/log.ts'
import { openOtlpMetrics } from '../../lib/telemetry/otlp-metrics.ts'
import { collector } from '../support/collector.ts'
import { otlpSettings } from '../support/settings.ts'
import { settles, until } from '../support/until.ts'
import type { Family } from '../../lib/telemetry/metric-families.ts'

const families: readonly Family[] = [
  {
    name: 'headgate_calls_total',
    help: 'Calls.',
    type: 'counter',
    samples: [{ labels: { endpoint: 'chat' }, value: 3 }]
  },
  { name: 'headgate_open_calls', help: 'Open.', type: 'gauge', samples: [{ labels: {}, value: 2 }] },
  {
    name: 'gen_ai.client.operation.duration',
    unit: 's',
    help: 'Time.',
    type: 'histogram',
    samples: [
      { labels: { 'gen_ai.operation.name': 'chat' }, value: { bounds: [1, 5], counts: [2, 0, 1], sum: 9.5 } }
    ]
  }
]

t.test(
  'metrics have Prometheus names, labels and values, and conventions their dotted names',
  async t => {
    const seen = await collector(t)
    const { close } = openOtlpMetrics(otlpSettings(seen.url), () => families, createLog('silent'))
    await close()
    t.strictSame(seen.metrics(), [
      {
        name: 'headgate_calls_total',
        unit: '',
        kind: 'sum',
        points: [{ attributes: { endpoint: 'chat' }, value: 3 }]
      },
      { name: 'headgate_open_calls', unit: '', kind: 'gauge', points: [{ attributes: {}, value: 2 }] },
      {
        name: 'gen_ai.client.operation.duration',
        unit: 's',
        kind: 'histogram',
        points: [
          { attributes: { 'gen_ai.operation.name': 'chat' }, value: 9.5, counts: [2, 0, 1], bounds: [1, 5] }
        ]
      }
    ])
    t.match(seen.requests[0]?.text, /"isMonotonic":true/)
  }
)

t.test('they are sent periodically, and failed requests are counted', async t => {
  const seen = await collector(t, { status: 400, pieces: ['{}'] })
  const lines: string[] = []
  const { failed, close } = openOtlpMetrics(
    otlpSettings(seen.url, { metricsIntervalMs: 20 }),
    () => families,
    createLog('info', {
      write: line => {
        lines.push(line)
      }
    })
  )
  await until(() => failed() >= 2, 'two requests that failed')
  await close()
  t.ok(seen.requests.length >= 2)
  t.ok(failed() >= seen.requests.length, 'also what was due while one was on its way')
  t.equal(lines.filter(line => line.includes('metrics were not sent')).length, 1)
})

t.test('an unreachable or unresponsive collector does not delay a shutdown', async t => {
  const silent = await collector(t, { silent: true })
  for (const endpoint of [silent.url, 'http://127.0.0.1:1']) {
    const { failed, close } = openOtlpMetrics(otlpSettings(endpoint), () => families, createLog('silent'))
    await settles(close(), 'the stop')
    t.equal(failed(), 1, endpoint)
  }
})
