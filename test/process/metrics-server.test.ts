import { connect } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { serveMetrics } from '../../lib/process/metrics-server.ts'
import { createLog } from '../../lib/log/log.ts'
import { Metrics } from '../../lib/telemetry/metrics.ts'
import { testGateway, type TestGateway } from '../support/gateway.ts'

t.test('there is one page, and it is gone when its server is', async t => {
  const metrics = new Metrics(() => api.gateway)
  const api: TestGateway = await testGateway(t, {}, {}, { observers: [metrics.observe] })
  const server = await serveMetrics({ host: '127.0.0.1', port: 0 }, () => metrics.families(), createLog('silent'))
  t.teardown(server.close)
  const url = `http://127.0.0.1:${server.address.port}`
  const page = await fetch(`${url}/metrics?from=somewhere`)
  t.equal(page.status, 200)
  t.equal(page.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  t.match(await page.text(), /^# HELP headgate_calls_total .+\n# TYPE headgate_calls_total counter\n/)
  for (const path of ['/', '/metrics/', '/v1/models']) t.equal((await fetch(url + path)).status, 404)
  t.equal((await fetch(`${url}/metrics`, { method: 'POST' })).status, 404)
  t.equal((await api.get('/metrics')).status, 404, 'not at the address of the API')
  const socket = connect(server.address.port, '127.0.0.1')
  await once(socket, 'connect')
  await Promise.all([once(socket, 'close'), server.close()])
  await t.rejects(fetch(`${url}/metrics`), { cause: { code: 'ECONNREFUSED' } })

  const rebound = await serveMetrics({ host: '127.0.0.1', port: 0 }, () => metrics.families(), createLog('silent'))
  t.teardown(rebound.close)
  const page2 = connect(rebound.address.port, '127.0.0.1')
  page2.write('GET /metrics HTTP/1.1\r\nhost: attacker.example\r\nconnection: close\r\n\r\n')
  t.match((await once(page2, 'data') as [Buffer])[0].toString(), /^HTTP\/1\.1 421 /, 'a page whose name points here reads nothing')

  const broken = await serveMetrics({ host: '127.0.0.1', port: 0 }, () => { throw new Error('out of order') }, createLog('silent'))
  t.teardown(broken.close)
  t.equal((await fetch(`http://127.0.0.1:${broken.address.port}/metrics`)).status, 500)
})
