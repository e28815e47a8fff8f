import t from 'tap'
import { CallRecord, hadChoiceOfRoutes } from '../../lib/core/record.ts'
import { candidatesOf, explainRoute } from '../../lib/core/explain-route.ts'
import { route } from '../support/routes.ts'
import { fillRecord } from '../support/fill-record.ts'

t.test('a header names the models that were tried and why, in short ASCII', async t => {
  const record = new CallRecord('chat')
  t.notOk(hadChoiceOfRoutes(record.routing))
  const a = route('one/a'); const b = route('two/b')
  fillRecord(record, { routing: { routes: [a], chosen: a } })
  t.notOk(hadChoiceOfRoutes(record.routing), 'of a single route without a failed attempt')
  t.equal(candidatesOf(record), undefined)
  record.routing.unusedRoutes = [{ route: a, reason: 'upstream_error' }]
  t.ok(hadChoiceOfRoutes(record.routing))
  t.equal(explainRoute(record), 'one/a: upstream_error; one/a: first_choice')
  fillRecord(record, { routing: { routes: [a, b], chosen: b } })
  t.equal(explainRoute(record), 'one/a: upstream_error; two/b: next_choice')
  t.same(candidatesOf(record), ['one/a: first_choice', 'two/b: next_choice'])
  fillRecord(record, { routing: { routes: [a, b], chosen: { ...a, settings: { max_tokens: 5 } } } })
  t.match(explainRoute(record), /one\/a: first_choice$/, 'also with a limit on its answer')
  for (const [ranked, text] of [
    [{ by: 'score', value: 0.8251 }, 'score=0.83'], [{ by: 'weight', value: 3 }, 'weight=3'],
    [{ by: 'price', value: 3.4375 }, 'price=3.44'], [{ by: 'price' }, 'price=unknown'],
    [{ by: 'first_byte', value: 410.4 }, 'first_byte_ms=410'], [{ by: 'first_byte' }, 'first_byte_ms=unknown']
  ] as const) {
    const c = route('three/c', ranked)
    t.equal(
      explainRoute(fillRecord(record, { routing: { routes: [a, c], chosen: c } })),
      `one/a: upstream_error; three/c: ${text}`
    )
  }
  const long = explainRoute(
    fillRecord(record, {
      routing: { unusedRoutes: Array.from({ length: 99 }, () => ({
        route: route('ü\r\nx/y'),
        reason: 'upstream_error'
      })) }
    })
  )
  t.equal(long?.length, 512)
  t.match(long, /^\?\?\?x\/y: upstream_error; [\x20-\x7e]+\.\.\.$/)
  const many = Array.from({ length: 20 }, (_, index) => route(`one/${index}`))
  t.equal(candidatesOf(fillRecord(record, { routing: { routes: many } }))?.length, 8)
})
