import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { flatMap } from '../../lib/pipeline/stage.ts'
import { inspectResults } from '../../lib/stages/inspect-results.ts'
import { batchesOf, collect, routedCall } from '../support/stages.ts'
import { ticksDuring } from '../support/ticks-during.ts'
import { replacement, word, wordStages } from '../support/word-stages.ts'
import type { RoutedCall } from '../../lib/core/call.ts'
import { text, type ReplaceText } from '../../lib/json/place-table.ts'

type Call = RoutedCall<object>

interface Said { readonly said: string }

const replaceEvent = (event: Said, replace: ReplaceText): Said => {
  const said = replace(event.said, text)
  return said === event.said ? event : { said }
}

t.test('each event has its own texts, and is the same object if none changes', async t => {
  const events = [{ said: `in ${word}` }, { said: 'here' }]
  const stage = inspectResults(
    wordStages(['answer']),
    replaceEvent,
    flatMap((call: Call) => batchesOf<object, Said>(call, [events]))
  )
  const [batch] = await collect(stage(once(routedCall({}))))
  t.same(batch?.events, [{ said: `in ${replacement}` }, { said: 'here' }])
  t.equal(batch?.events[1], events[1])
  const requests = inspectResults(
    wordStages(['request']),
    replaceEvent,
    flatMap((call: Call) => batchesOf<object, Said>(call, [events]))
  )
  t.equal(
    (await collect(requests(once(routedCall({})))))[0]?.events,
    events,
    'stages of other points do not see it'
  )
})

t.test('long texts are searched in slices', async t => {
  const long = `${'x'.repeat(1e6)}${word}`
  const stage = inspectResults(
    wordStages(['answer']),
    replaceEvent,
    flatMap((call: Call) => batchesOf<object, Said>(call, [[{ said: long }]]))
  )
  const said: string[] = []
  const turns = await ticksDuring(async () => {
    for await (const { events } of stage(once(routedCall({})))) said.push(...events.map(({ said }) => said))
  })
  t.same(said, [long.replace(word, replacement)])
  t.ok(turns > 9, `${turns} turns`)
})

t.test('gateway errors have their text redacted; other errors pass unchanged', async t => {
  const failing = (failure: unknown) =>
    inspectResults(
      wordStages(['answer']),
      replaceEvent,
      flatMap((call: Call) => batchesOf<object, Said>(call, [], failure))
    )
  await t.rejects(
    collect(failing(new GatewayError('upstream_error', { message: `no ${word}` }))(once(routedCall({})))),
    { code: 'upstream_error', message: `no ${replacement}` }
  )
  await t.rejects(collect(failing(new TypeError(word))(once(routedCall({})))), { message: word })
})

t.test('a caller who disconnects closes the source', async t => {
  let isClosed = false
  const stage = inspectResults(wordStages(), replaceEvent, flatMap(async function * (call: Call) {
    try {
      yield * batchesOf<object, Said>(call, [[{ said: 'a' }], [{ said: 'b' }]])
    } finally {
      isClosed = true
    }
  }))
  for await (const _ of stage(once(routedCall<object>({})))) break
  t.ok(isClosed)
})
