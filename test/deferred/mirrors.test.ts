import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { Mirrors } from '../../lib/deferred/mirrors.ts'
import { receivedCall } from '../support/stages.ts'
import { until } from '../support/until.ts'
import type { Call } from '../../lib/core/call.ts'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'

interface Given {
  readonly read?: (call: Call) => Promise<void>
  readonly attempts?: number
  readonly callMs?: number
  readonly original?: RecordParts
}

/** Waits until the signal of a call aborts, like a provider that does not answer. */
const silence = async ({ signal }: Call): Promise<void> => await new Promise((_resolve, reject) => {
  signal.addEventListener('abort', () => reject(signal.reason))
})

/** Plans the mirror of a call and ends that call. */
function endOne (
  mirrors: Mirrors,
  {
    read = async () => undefined,
    attempts = 1,
    callMs = 60_000,
    original = { end: { outcome: 'ok' } }
  }: Given = {}
): void {
  const call = receivedCall({})
  fillRecord(call.record, original)
  mirrors.plan(call.record, {
    callMs,
    maxInFlight: 2,
    start: signal => {
      const copy = receivedCall({ signal })
      copy.record.routing.requestCount = attempts
      return { call: copy, done: read(copy) }
    }
  })
  call.record.end.onRecorded?.()
}

t.test('a mirrored call ends with its own outcome, and its failure affects nothing else', async t => {
  const ended: Call[] = []
  const mirrors = new Mirrors(call => ended.push(call))
  endOne(mirrors)
  endOne(mirrors, {
    read: async () => await Promise.reject(new GatewayError('upstream_error')),
    original: { end: { outcome: 'error' } }
  })
  t.equal(mirrors.inFlight, 2)
  endOne(mirrors)
  await until(() => mirrors.inFlight === 0, 'the end of both')
  t.same(
    ended.map(({ record }) => [record.end.outcome, record.end.status, record.end.errorCode]),
    [
      ['ok', 200, undefined],
      ['error', 502, 'upstream_error']
    ],
    'the third was skipped'
  )
})

t.test(
  'no mirror starts after a disconnect, or for a cached answer',
  async t => {
    const mirrors = new Mirrors(() => {
      t.fail('there is none')
    })
    for (const original of [
      { end: { outcome: 'client_closed' } },
      { end: { outcome: 'client_too_slow' } },
      { end: { outcome: 'ok' }, routing: { cache: 'hit' } }
    ] as const) {
      endOne(mirrors, { original })
    }
    t.equal(mirrors.inFlight, 0)
  }
)

t.test('a mirrored call that sent no request is not reported', async t => {
  const mirrors = new Mirrors(() => {
    t.fail('there is none')
  })
  endOne(mirrors, {
    read: async () => await Promise.reject(new GatewayError('unsupported_parameter')), attempts: 0
  })
  await until(() => mirrors.inFlight === 0, 'its end')
})

t.test('mirrored calls end at their deadline or on close, and none starts afterwards', async t => {
  const codes: unknown[] = []
  const onEnd = ({ record }: Call): void => { codes.push(record.end.errorCode) }
  const mirrors = new Mirrors(onEnd)
  endOne(mirrors, { read: silence, callMs: 5 })
  await until(() => mirrors.inFlight === 0, 'the deadline')
  endOne(mirrors, { read: silence })
  await mirrors.close()
  endOne(mirrors, { read: silence })
  t.equal(mirrors.inFlight, 0)
  t.same(codes, ['timeout', 'shutting_down'])
})
