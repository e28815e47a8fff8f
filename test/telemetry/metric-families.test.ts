import t from 'tap'
import {
  familyName,
  mergeFamilies,
  printFamilies,
  printLabels,
  single,
  type Family
} from '../../lib/telemetry/metric-families.ts'

const family = (samples: Family['samples'], more: Partial<Family> = {}): Family => ({
  name: 'calls',
  help: 'Calls.',
  type: 'counter',
  samples,
  ...more
})
const sample = (a: string, value: Family['samples'][number]['value']): Family['samples'][number] => ({
  labels: { a },
  value
})

t.test('labels are escaped for Prometheus', async t => {
  t.equal(printLabels({ endpoint: 'chat', status: '200' }), '{endpoint="chat",status="200"}')
  t.equal(printLabels({ a: 'x"y\\z\n' }), '{a="x\\"y\\\\z\\n"}')
  t.equal(printLabels({ 'error.type': 'x' }), '{error_type="x"}')
  t.equal(printLabels({}), '')
})

t.test('metrics are printed with their help and type', async t => {
  t.equal(
    printFamilies([family([sample('1', 2), { labels: {}, value: 0.5 }])]),
    '# HELP calls Calls.\n# TYPE calls counter\ncalls{a="1"} 2\ncalls 0.5\n'
  )
})

t.test('names of conventions are written for Prometheus, with the unit of time', async t => {
  t.equal(
    familyName({ name: 'gen_ai.client.operation.duration', unit: 's' }),
    'gen_ai_client_operation_duration_seconds'
  )
  t.equal(familyName({ name: 'gen_ai.client.token.usage', unit: '{token}' }), 'gen_ai_client_token_usage')
})

t.test('a histogram counts each value in all buckets that it does not exceed', async t => {
  const value = { bounds: [1, 5], counts: [2, 2, 1], sum: 17 }
  t.equal(
    printFamilies([family([sample('1', value)], { name: 'h', type: 'histogram' })]),
    [
      '# HELP h Calls.',
      '# TYPE h histogram',
      'h_bucket{a="1",le="1"} 2',
      'h_bucket{a="1",le="5"} 4',
      'h_bucket{a="1",le="+Inf"} 5',
      'h_sum{a="1"} 17',
      'h_count{a="1"} 5',
      ''
    ].join('\n')
  )
  t.match(printFamilies([family([{ labels: {}, value }])]), /^calls_bucket\{le="1"\} 2\n/m)
})

t.test('values of several processes are added, except for the lag, whose maximum is reported', t => {
  const lag = { name: 'lag', merge: 'max' } as const
  t.same(
    mergeFamilies([
      [family([sample('1', 1), sample('2', 2)]), single('gauge', 'lag', 'Lag.', 3)].map(one =>
        one.name === 'lag' ? { ...one, ...lag } : one
      ),
      [family([sample('2', 5), sample('3', 7)]), family([{ labels: {}, value: 2 }], lag)]
    ]).map(({ samples }) => samples),
    [[sample('1', 1), sample('2', 7), sample('3', 7)], [{ labels: {}, value: 3 }]]
  )
  t.end()
})

t.test('histograms of several processes are added bucket by bucket', async t => {
  const value = { bounds: [1], counts: [1, 2], sum: 9 }
  t.strictSame(mergeFamilies([[family([sample('1', value)])], [family([sample('1', value)])]])[0]?.samples, [
    sample('1', { bounds: [1], counts: [2, 4], sum: 18 })
  ])
})

t.test(
  'OpenMetrics has exemplars, decimal bounds, counters without suffix, and an end marker',
  async t => {
    const exemplars = {
      0: { traceId: 't1', spanId: 's1', value: 0.5, atMs: 1500 },
      2: { traceId: 't2', spanId: 's2', value: 9, atMs: 2000 }
    }
    const value = { bounds: [0.5, 5], counts: [1, 2, 1], sum: 17, exemplars }
    const families = [
      family([sample('1', 2)], { name: 'calls_total' }),
      family([{ labels: {}, value }], { name: 'h', type: 'histogram' }),
      single('gauge', 'open', 'Open.', 3)
    ]
    t.equal(
      printFamilies(families, 'openmetrics'),
      [
        '# HELP calls Calls.',
        '# TYPE calls counter',
        'calls_total{a="1"} 2',
        '# HELP h Calls.',
        '# TYPE h histogram',
        'h_bucket{le="0.5"} 1 # {trace_id="t1",span_id="s1"} 0.5 1.5',
        'h_bucket{le="5.0"} 3',
        'h_bucket{le="+Inf"} 4 # {trace_id="t2",span_id="s2"} 9 2',
        'h_sum 17',
        'h_count 4',
        '# HELP open Open.',
        '# TYPE open gauge',
        'open 3',
        '# EOF',
        ''
      ].join('\n')
    )
    t.notMatch(printFamilies(families), /trace_id|EOF/)
  }
)

t.test("of several processes' exemplars the newest are kept", async t => {
  const of = (atMs: number, ...buckets: number[]): Family[] => [
    family([
      sample('1', {
        bounds: [1],
        counts: [1, 1],
        sum: 1,
        exemplars: Object.fromEntries(
          buckets.map(bucket => [bucket, { traceId: `at ${atMs}`, spanId: '', value: 1, atMs }])
        )
      })
    ])
  ]
  t.match(mergeFamilies([of(2, 0), of(1, 0, 1)])[0]?.samples, [
    { value: { exemplars: { 0: { traceId: 'at 2' }, 1: { traceId: 'at 1' } } } }
  ])
})
