import t from 'tap'
import { CallRecord } from '../../lib/core/record.ts'
import { logCall, type CallLogSettings } from '../../lib/telemetry/call-log.ts'
import { createLog } from '../../lib/log/log.ts'
import { route } from '../support/routes.ts'
import { settings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'

function logged (
  parts: RecordParts,
  fields: Partial<CallLogSettings> = {}
): Record<string, unknown> {
  const lines: string[] = []
  const log = createLog('info', {
    write: line => {
      lines.push(line)
    }
  })
  logCall(
    log,
    routedCall(
      {},
      { id: 'call-1', record: fillRecord(new CallRecord('chat'), parts), receivedAtMs: performance.now() }
    ),
    undefined,
    { ...settings().server, ...fields }
  )
  return JSON.parse(lines.join('')) as Record<string, unknown>
}

t.test('a line has everything known of a call, and nothing else', async t => {
  const [a, b] = [route('one/a'), route('two/b')]
  const line = logged({
    request: { remoteAddress: '::ffff:192.0.2.1', requestedModel: 'smart', isStreamed: true },
    caller: { keyId: 'key-1', keyName: 'ci', session: 's-1' },
    routing: {
      modelId: 'two/b',
      providerId: 'two',
      requestCount: 2,
      hedges: 1,
      routes: [a, b],
      chosen: b,
      unusedRoutes: [{ route: a, reason: 'upstream_error' }],
      upstreamRequestId: 'req-1'
    },
    end: { status: 200, outcome: 'ok' },
    times: { firstByteMs: 1.005, upstreamWaitMs: 2.345 },
    usage: {
      total: { promptTokens: 3, completionTokens: 4, totalTokens: 7 },
      units: { pages: 1, audioSeconds: 2, characters: 3, images: { count: 4 } }
    }
  })
  t.strictSame(
    { ...line, time: '', total_ms: 0 },
    {
      level: 'info',
      time: '',
      id: 'call-1',
      client: '192.0.2.1',
      key: 'key-1',
      key_name: 'ci',
      endpoint: 'chat',
      requested: 'smart',
      session: 's-1',
      model: 'two/b',
      provider: 'two',
      status: 200,
      outcome: 'ok',
      streamed: true,
      attempts: 2,
      hedges: 1,
      failed_attempts: ['one/a: upstream_error'],
      candidates: ['one/a: first_choice', 'two/b: next_choice'],
      upstream_id: 'req-1',
      total_ms: 0,
      first_byte_ms: 1,
      upstream_wait_ms: 2.35,
      usage: { prompt: 3, completion: 4, total: 7 },
      images: 4,
      audio_seconds: 2,
      spoken_characters: 3,
      pages: 1,
      msg: 'call'
    }
  )
})

t.test('the client address and key name are left out if so configured', async t => {
  const parts = {
    request: { remoteAddress: '192.0.2.1' },
    caller: { keyId: 'key-1', keyName: 'ci' }
  }
  const { client: hidden, ...named } = logged(parts, { logClient: false })
  t.match([hidden, named], [undefined, { key: 'key-1', key_name: 'ci' }])
  const { key_name: unnamed, ...seen } = logged(parts, { logKeyName: false })
  t.match([unnamed, seen], [undefined, { client: '192.0.2.1', key: 'key-1' }])
})

t.test('unknown values are left out', async t => {
  const line = logged({})
  t.strictSame(Object.keys(line), [
    'level',
    'time',
    'id',
    'endpoint',
    'attempts',
    'total_ms',
    'upstream_wait_ms',
    'msg'
  ])
})

t.test('estimates are marked', async t => {
  const usage = { promptTokens: 3, completionTokens: 4, totalTokens: 7 }
  t.strictSame(logged({ usage: { total: usage, isEstimated: true } })['usage'], {
    prompt: 3,
    completion: 4,
    total: 7,
    estimated: true
  })
  t.strictSame(logged({ usage: { outputCharacters: 9 } })['usage'], { completion: 3, estimated: true })
})
