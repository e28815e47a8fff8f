import t from 'tap'
import { CallRecord, hadSeveralRoutes } from '../../lib/core/record.ts'
import { candidatesOf, explainRoute } from '../../lib/core/explain-route.ts'
import { route } from '../support/routes.ts'

t.test('a header names the models that were tried and why, in short ASCII', async t => {
  const record = new CallRecord('chat')
  t.notOk(hadSeveralRoutes(record))
  const a = route('one/a'); const b = route('two/b')
  Object.assign(record, { routes: [a], chosen: a })
  t.notOk(hadSeveralRoutes(record), 'of a single route without a failed attempt')
  t.equal(candidatesOf(record), undefined)
  record.failedAttempts = [{ route: a, reason: 'upstream_error' }]
  t.ok(hadSeveralRoutes(record))
  t.equal(explainRoute(record), 'one/a: upstream_error; one/a: first_choice')
  Object.assign(record, { routes: [a, b], chosen: b })
  t.equal(explainRoute(record), 'one/a: upstream_error; two/b: next_choice')
  t.same(candidatesOf(record), ['one/a: first_choice', 'two/b: next_choice'])
  for (const [ranked, text] of [
    [{ by: 'score', value: 0.8251 }, 'score=0.83'], [{ by: 'weight', value: 3 }, 'weight=3'],
    [{ by: 'price', value: 3.4375 }, 'price=3.44'], [{ by: 'price' }, 'price=unknown'],
    [{ by: 'first_byte', value: 410.4 }, 'first_byte_ms=410'], [{ by: 'first_byte' }, 'first_byte_ms=unknown']
  ] as const) {
    const c = route('three/c', ranked)
    t.equal(
      explainRoute(Object.assign(record, { routes: [a, c], chosen: c })),
      `one/a: upstream_error; three/c: ${text}`
    )
  }
  const long = explainRoute(
    Object.assign(record, {
      failedAttempts: Array.from({ length: 99 }, () => ({
        route: route('ü\r\nx/y'),
        reason: 'upstream_error'
      }))
    })
  )
  t.equal(long?.length, 512)
  t.match(long, /^\?\?\?x\/y: upstream_error; [\x20-\x7e]+\.\.\.$/)
  const many = Array.from({ length: 20 }, (_, index) => route(`one/${index}`))
  t.equal(candidatesOf(Object.assign(record, { routes: many }))?.length, 8)
})
