import t from 'tap'
import { Latencies } from '../../lib/routing/latencies.ts'
import { clock } from '../support/routes.ts'

t.test('the newest measurement has a weight of a fifth', async t => {
  const latencies = new Latencies(clock().now)
  t.equal(latencies.of('one/a'), undefined)
  latencies.note('one/a', 100)
  t.equal(latencies.of('one/a'), 100)
  latencies.note('one/a', 200)
  t.equal(latencies.of('one/a'), 120)
})

t.test('a model not measured for five minutes is unknown, and starts afresh', async t => {
  const { now, pass } = clock()
  const latencies = new Latencies(now)
  latencies.note('one/a', 100)
  pass(300_000)
  t.equal(latencies.of('one/a'), 100)
  pass(1)
  t.equal(latencies.of('one/a'), undefined)
  latencies.note('one/a', 500)
  t.equal(latencies.of('one/a'), 500)
})

t.test('measurements of unchanged providers are kept', async t => {
  const { now } = clock()
  const [before, after] = [new Latencies(now), new Latencies(now)]
  before.note('one/a', 100)
  before.note('two/b/c', 200)
  after.adopt(before, id => id === 'two')
  t.same([after.of('one/a'), after.of('two/b/c')], [undefined, 200])
})
