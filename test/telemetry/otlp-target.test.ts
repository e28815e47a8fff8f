import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { createLog } from '../../lib/log/log.ts'
import { exporterOptions, flushAtStop, serviceResource } from '../../lib/telemetry/otlp-target.ts'
import { otlpSettings } from '../support/settings.ts'
import { settles } from '../support/until.ts'

t.test('each signal has its path below the endpoint, and the configured headers', async t => {
  const settings = otlpSettings('http://collector:4318/otlp/', {
    headers: { Authorization: new Secret('Basic x') }
  })
  t.strictSame(exporterOptions(settings, 'logs'), {
    url: 'http://collector:4318/otlp/v1/logs',
    headers: { Authorization: 'Basic x' }
  })
  t.equal(exporterOptions(settings, 'metrics').url, 'http://collector:4318/otlp/v1/metrics')
})

t.test('the service is described, and the environment may add attributes', async t => {
  t.intercept(process, 'env', {
    value: { OTEL_SERVICE_NAME: 'edge', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' }
  })
  t.match(serviceResource().attributes, {
    'service.name': 'edge',
    'service.version': /^\d/,
    'service.instance.id': /:\d+$/,
    'deployment.environment.name': 'test'
  })
})

t.test('a failed flush is logged, and one that hangs is abandoned', async t => {
  const lines: string[] = []
  const log = createLog('info', { write: line => { lines.push(line) } })
  await flushAtStop(async () => await Promise.reject(new Error('refused')), log, 'spans')
  t.match(JSON.parse(lines[0] ?? ''), { msg: 'failed to send the last spans', cause: { message: 'refused' } })
  await settles(flushAtStop(async () => await new Promise(() => undefined), log, 'spans'), 'the stop')
})
