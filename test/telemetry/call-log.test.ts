import fc from 'fast-check'
import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { logCall } from '../../lib/telemetry/call-log.ts'
import { createLog } from '../../lib/telemetry/log.ts'
import { holds } from '../support/property.ts'
import { route } from '../support/routes.ts'
import { routedCall } from '../support/stages.ts'
import { usageRowOf } from '../support/usage.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

function loggedText (parts: Partial<CallRecord>, row?: UsageRow, id = 'call-1'): string {
  const lines: string[] = []
  const log = createLog('info', { write: line => { lines.push(line) } })
  logCall(log, routedCall({}, { id, record: Object.assign(new CallRecord('chat'), parts), receivedAtMs: performance.now() }), row)
  return lines.join('')
}

function logged (parts: Partial<CallRecord>, row?: UsageRow): Record<string, unknown> {
  return JSON.parse(loggedText(parts, row)) as Record<string, unknown>
}

t.test('a line says all that is known of a call, and nothing else', async t => {
  const [a, b] = [route('one/a'), route('two/b')]
  const line = logged({
    keyId: 'key-1', requestedModel: 'smart', session: 's-1', modelId: 'two/b', providerId: 'two', status: 200, outcome: 'ok', streamed: true, attempts: 2, hedges: 1,
    routes: [a, b], chosen: b, failedAttempts: [{ route: a, reason: 'upstream_error' }], upstreamRequestId: 'req-1', firstByteMs: 1.005, upstreamWaitMs: 2.345,
    usage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 }, pages: 1, audioSeconds: 2, spokenCharacters: 3
  })
  t.strictSame({ ...line, time: '', total_ms: 0 }, {
    level: 30, time: '', id: 'call-1', key: 'key-1', endpoint: 'chat', requested: 'smart', session: 's-1', model: 'two/b', provider: 'two', status: 200, outcome: 'ok',
    streamed: true, attempts: 2, hedges: 1, failed_attempts: ['one/a: upstream_error'], candidates: ['one/a: first_choice', 'two/b: next_choice'], upstream_id: 'req-1',
    total_ms: 0, first_byte_ms: 1, upstream_wait_ms: 2.35, usage: { prompt: 3, completion: 4, total: 7 }, pages: 1, audio_seconds: 2, spoken_characters: 3, msg: 'call'
  })
})

t.test('what is not known is left out', async t => {
  const line = logged({})
  t.strictSame(Object.keys(line), ['level', 'time', 'id', 'endpoint', 'attempts', 'total_ms', 'upstream_wait_ms', 'msg'])
})

t.test('estimates are marked', async t => {
  const usage = { promptTokens: 3, completionTokens: 4, totalTokens: 7 }
  t.strictSame(logged({ usage, usageEstimated: true })['usage'], { prompt: 3, completion: 4, total: 7, estimated: true })
  t.strictSame(logged({ outputCharacters: 9 })['usage'], { completion: 3, estimated: true })
})

t.test('a line in which calls differ by time and usage only is printed as any other is', async t => {
  const text = fc.option(fc.string({ unit: 'binary' }), { nil: undefined })
  const number = fc.option(fc.double({ min: 0, max: 1e7, noNaN: true }), { nil: undefined })
  const tokens = fc.option(fc.nat(), { nil: null })
  const record = fc.record({
    keyId: text, requestedModel: text, modelId: text, providerId: text, upstreamRequestId: text, firstByteMs: number,
    status: fc.option(fc.constantFrom(200, 500), { nil: undefined }), streamed: fc.option(fc.boolean(), { nil: undefined }),
    outcome: fc.option(fc.constantFrom('ok', 'client_closed'), { nil: undefined }), attempts: fc.nat(3), upstreamWaitMs: fc.double({ min: 0, max: 1e7, noNaN: true })
  })
  const row = fc.record({ prompt_tokens: tokens, completion_tokens: tokens, estimated: fc.constantFrom(0, 1) })
  const times = /"time":"[^"]*"|"total_ms":[\d.]+/g
  holds(t, fc.property(fc.string({ minLength: 1 }), record, row, (id, parts, usage) => {
    const plain = loggedText(parts, usageRowOf(1, usage), id)
    // With one more field it is printed by `JSON.stringify`.
    const other = loggedText({ ...parts, pages: 7 }, usageRowOf(1, usage), id)
    return plain.replace(times, '') === other.replace(times, '').replace(',"pages":7', '')
  }))
})
