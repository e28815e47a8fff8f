import t from 'tap'
import { PartNotes } from '../../lib/attempts/part-notes.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { GatewayError } from '../../lib/core/errors.ts'
import { ProviderFailure } from '../../lib/providers/provider-failure.ts'
import { beginTrace } from '../../lib/telemetry/trace-context.ts'
import type { Route } from '../../lib/core/route.ts'

const route: Route = { providerId: 'one', model: 'm', modelId: 'one/m' }

t.test('each part has a number, its times, and the reason why it failed', t => {
  const record = new CallRecord('chat')
  record.trace = beginTrace({}, () => true)
  const attemptSpan = record.trace.child()
  const notes = new PartNotes(record, route, attemptSpan)
  const spans = [0, 1, 2, 3, 4].map(index => notes.begin(index))
  notes.succeeded(1)
  notes.failed(0, new ProviderFailure({ kind: 'overloaded', status: 503, cause: {} }, 503), false)
  notes.failed(2, new GatewayError('upstream_timeout'), false)
  notes.failed(3, new Error('aborted'), true)
  const { routing: { sentParts = [] } } = record
  t.strictSame(
    sentParts.map(({ number, reason, status }) => ({ number, reason, status })),
    [
      { number: 1, reason: 'upstream_overloaded', status: 503 },
      { number: 2, reason: undefined, status: undefined },
      { number: 3, reason: 'upstream_timeout', status: undefined },
      { number: 4, reason: 'cancelled', status: undefined },
      { number: 5, reason: undefined, status: undefined }
    ]
  )
  t.strictSame(sentParts.map(({ span }) => span), spans)
  t.ok(sentParts.every(part => part.route === route && part.attemptSpan === attemptSpan))
  t.strictSame(
    sentParts.map(({ endedAtMs = NaN, startedAtMs }) => endedAtMs >= startedAtMs),
    [true, true, true, true, false],
    'the last one is still waiting'
  )
  t.end()
})

t.test('nothing is recorded for a call without a trace', t => {
  const record = new CallRecord('chat')
  const notes = new PartNotes(record, route, undefined)
  t.equal(notes.begin(0), undefined)
  notes.succeeded(0)
  notes.failed(0, new Error('no'), false)
  t.equal(record.routing.sentParts, undefined)
  t.end()
})
