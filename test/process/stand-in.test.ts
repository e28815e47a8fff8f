import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import t from 'tap'
import { StandIn } from '../../lib/process/stand-in.ts'
import { createLog } from '../../lib/telemetry/log.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import type { AddressInfo } from 'node:net'

t.test('at a port that becomes free every request gets 503, until it is closed', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo // listening on TCP
  const standIn = new StandIn(10, createLog('silent'))
  t.teardown(() => standIn.close())
  const opened = standIn.open({ host: '127.0.0.1', port })
  other.close()
  await opened
  const url = `http://127.0.0.1:${port}/v1/models`
  const response = await fetch(url)
  t.same([response.status, response.headers.get('retry-after'), response.headers.get('connection')], [503, '1', 'close'])
  t.strictSame(await response.json(), {
    error: { message: 'The gateway is restarting. Try again in a moment.', type: 'server_error', code: 'overloaded', param: null }
  })
  standIn.close()
  await t.rejects(fetch(url))
})

t.test('where the gateway serves HTTPS it does so as well', { skip: noOpenSsl }, async t => {
  const tls = makeCertificate(t.testdir())
  const port = await freePort()
  const standIn = new StandIn(10, createLog('silent'), tls)
  t.teardown(() => standIn.close())
  await standIn.open({ host: '127.0.0.1', port })
  const sent = request({ host: '127.0.0.1', port, ca: readFileSync(tls.certificate), agent: false }).end()
  const [response] = await once(sent, 'response') as [IncomingMessage]
  t.same([response.statusCode, response.headers['retry-after']], [503, '1'])
  response.resume()
})

t.test('one that is closed while it waits for the port does not take it', async t => {
  const other = createServer((_request, response) => response.end('other')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo // listening on TCP
  const standIn = new StandIn(10, createLog('silent'))
  const opened = standIn.open({ host: '127.0.0.1', port })
  standIn.close()
  await opened
  t.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'other')
})
