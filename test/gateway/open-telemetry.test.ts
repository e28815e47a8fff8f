import t from 'tap'
import { createGateway } from '../../lib/gateway.ts'
import { openTracer } from '../../lib/gateway/open-telemetry.ts'
import { createLog } from '../../lib/log/log.ts'
import { CallTracer } from '../../lib/telemetry/call-tracer.ts'
import { otlpSettings, settings } from '../support/settings.ts'

const log = createLog('silent')
const telemetry = { maxSampledPerSecond: 1, otlp: otlpSettings('http://127.0.0.1:1') }

t.test('without traces no tracer is opened', async t => {
  t.equal(await openTracer(settings(), log), undefined)
  t.equal(
    await openTracer(
      settings({ telemetry: { ...telemetry, otlp: { ...telemetry.otlp, traces: false } } }),
      log
    ),
    undefined
  )
})

t.test('a start that fails closes the tracer', async t => {
  let closed = 0
  t.intercept(CallTracer.prototype, 'close', { value: async () => { closed++ } })
  const { server } = settings()
  const unusable = { ...server, tls: { certificate: '/nowhere.pem', key: '/nowhere.pem' } }
  await t.rejects(
    createGateway(settings({ telemetry, server: unusable }), { keys: { check: () => undefined }, log })
  )
  t.equal(closed, 1)
})
