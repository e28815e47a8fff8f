import { connect } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { serveMetrics } from '../../lib/process/metrics-server.ts'
import { createLog } from '../../lib/log/log.ts'
import { Metrics } from '../../lib/telemetry/metrics.ts'
import { raw, rest } from '../support/raw.ts'
import { testGateway, type TestGateway } from '../support/gateway.ts'

t.test('there is one page, until its server closes', async t => {
  const metrics = new Metrics(() => api.gateway)
  const api: TestGateway = await testGateway(t, {}, {}, { observers: [metrics.observe] })
  const server = await serveMetrics(
    { host: '127.0.0.1', port: 0 },
    () => metrics.families(),
    createLog('silent')
  )
  t.teardown(server.close)
  const url = `http://127.0.0.1:${server.address.port}`
  const page = await fetch(`${url}/metrics?from=somewhere`)
  t.equal(page.status, 200)
  t.equal(page.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  t.match(await page.text(), /^# HELP headgate_calls_total .+\n# TYPE headgate_calls_total counter\n/)
  const open = await fetch(`${url}/metrics`, {
    headers: { accept: 'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5' }
  })
  t.equal(open.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  const text = await open.text()
  t.match(text, /^# HELP headgate_calls .+\n# TYPE headgate_calls counter\n[^]+\n# EOF\n$/)
  for (const [, name = ''] of text.matchAll(/^# TYPE (\S+) counter$/gm)) {
    t.match(text, RegExp(`^# HELP ${name} .+\n# TYPE ${name} counter\n(${name}_total[ {]|# )`, 'm'), name)
  }
  for (const path of ['/', '/metrics/', '/v1/models']) t.equal((await fetch(url + path)).status, 404)
  t.equal((await fetch(`${url}/metrics`, { method: 'POST' })).status, 404)
  t.equal((await api.get('/metrics')).status, 404, 'not at the address of the API')
  const socket = connect(server.address.port, '127.0.0.1')
  await once(socket, 'connect')
  await Promise.all([once(socket, 'close'), server.close()])
  await t.rejects(fetch(`${url}/metrics`), { cause: { code: 'ECONNREFUSED' } })

  const broken = await serveMetrics(
    { host: '127.0.0.1', port: 0 },
    () => {
      throw new Error('out of order')
    },
    createLog('silent')
  )
  t.teardown(broken.close)
  t.equal((await fetch(`http://127.0.0.1:${broken.address.port}/metrics`)).status, 500)
})

t.test(
  'a page whose name resolves to the metrics address reads nothing, in whatever place that name is',
  async t => {
    const server = await serveMetrics({ host: '127.0.0.1', port: 0 }, () => [], createLog('silent'))
    t.teardown(server.close)
    const rows: ReadonlyArray<readonly [request: string, status: number]> = [
      ['GET /metrics HTTP/1.1\r\nhost: localhost', 200],
      ['GET /metrics HTTP/1.1\r\nhost: evil.example', 421],
      ['GET /metrics HTTP/1.1\r\nhost: localhost\r\nhost: evil.example', 421],
      ['GET http://evil.example/metrics HTTP/1.1\r\nhost: localhost', 404],
      ['GET /metrics HTTP/1.0', 421]
    ]
    for (const [request, status] of rows) {
      const socket = await raw(t, `http://127.0.0.1:${server.address.port}`)
      socket.write(`${request}\r\nconnection: close\r\n\r\n`)
      t.match(await rest(socket), new RegExp(`^HTTP/1\\.1 ${status} `), request)
    }
  }
)
