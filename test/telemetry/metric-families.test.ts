import t from 'tap'
import { Histogram, labels, mergeFamilies, printFamilies, type Family } from '../../lib/telemetry/metric-families.ts'

const family = (samples: Family['samples'], more: Partial<Family> = {}): Family => ({ name: 'calls', help: 'Calls.', type: 'counter', samples, ...more })

t.test('labels are written as Prometheus reads them', async t => {
  t.equal(labels({ endpoint: 'chat', status: 200 }), '{endpoint="chat",status="200"}')
  t.equal(labels({ a: 'x"y\\z\n' }), '{a="x\\"y\\\\z\\n"}')
})

t.test('metrics are printed with their help and type', async t => {
  t.equal(printFamilies([family([['{a="1"}', 2], ['', 0.5]])]), '# HELP calls Calls.\n# TYPE calls counter\ncalls{a="1"} 2\ncalls 0.5\n')
})

t.test('a histogram counts each value in all buckets that it does not exceed', async t => {
  const histogram = new Histogram([1, 5])
  t.equal(histogram.isEmpty, true)
  for (const value of [0.5, 1, 1.5, 5, 9]) histogram.observe(value)
  t.equal(histogram.isEmpty, false)
  const samples: Family['samples'] = []
  histogram.addTo(family(samples), '{a="1"}')
  t.strictSame(samples, [
    ['_bucket{a="1",le="1"}', 2], ['_bucket{a="1",le="5"}', 4], ['_bucket{a="1",le="+Inf"}', 5], ['_sum{a="1"}', 17], ['_count{a="1"}', 5]
  ])
})

t.test('numbers of several processes are added, and the worst lag is reported', t => {
  const lag = { name: 'lag', merge: 'max' } as const
  t.same(mergeFamilies([
    [family([['{a="1"}', 1], ['{a="2"}', 2]]), family([['', 3]], lag)],
    [family([['{a="2"}', 5], ['{a="3"}', 7]]), family([['', 2]], lag)]
  ]).map(({ samples }) => samples), [[['{a="1"}', 1], ['{a="2"}', 7], ['{a="3"}', 7]], [['', 3]]])
  t.end()
})
