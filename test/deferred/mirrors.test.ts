import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { Mirrors, type MirroredWork } from '../../lib/deferred/mirrors.ts'
import { receivedCall } from '../support/stages.ts'
import { until } from '../support/until.ts'
import type { Call } from '../../lib/core/call.ts'

const work = (onEnd: MirroredWork<Call>['onEnd'], read: MirroredWork<Call>['read'], attempts = 1): MirroredWork<Call> => ({
  onEnd,
  call: signal => {
    const call = receivedCall({ signal })
    call.record.attempts = attempts
    return call
  },
  read
})

/** Waits until the signal of a call aborts, as a provider that does not answer does. */
const silence = async ({ signal }: Call): Promise<void> => await new Promise((_resolve, reject) => {
  signal.addEventListener('abort', () => reject(signal.reason))
})

t.test('a call ends with its outcome, and its failure is nobody else\'s', async t => {
  const ended: Call[] = []
  const onEnd = (call: Call): void => { ended.push(call) }
  const mirrors = new Mirrors()
  mirrors.begin(work(onEnd, async () => undefined), 1000)
  mirrors.begin(work(onEnd, async () => await Promise.reject(new GatewayError('upstream_error'))), 1000)
  t.equal(mirrors.inFlight, 2)
  await until(() => mirrors.inFlight === 0, 'the end of both')
  t.match(ended.map(({ record }) => [record.outcome, record.status, record.errorCode]), [['ok', 200, undefined], ['error', 502, 'upstream_error']])
})

t.test('a call that no provider was asked for is none', async t => {
  const ended: Call[] = []
  const onEnd = (call: Call): void => { ended.push(call) }
  const mirrors = new Mirrors()
  mirrors.begin(work(onEnd, async () => await Promise.reject(new GatewayError('unsupported_parameter')), 0), 1000)
  await until(() => mirrors.inFlight === 0, 'its end')
  t.same(ended, [])
})

t.test('calls end at their deadline and with the gateway, after which none begins', async t => {
  const codes: unknown[] = []
  const onEnd = ({ record }: Call): void => { codes.push(record.errorCode) }
  const mirrors = new Mirrors()
  mirrors.begin(work(onEnd, silence), 5)
  await until(() => mirrors.inFlight === 0, 'the deadline')
  mirrors.begin(work(onEnd, silence), 60_000)
  await mirrors.close()
  mirrors.begin(work(onEnd, silence), 60_000)
  t.equal(mirrors.inFlight, 0)
  t.same(codes, ['timeout', 'shutting_down'])
})
