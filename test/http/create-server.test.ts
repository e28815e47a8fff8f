import { once } from 'node:events'
import { connect } from 'node:net'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect as connectSecurely, type ConnectionOptions, type TLSSocket } from 'node:tls'
import t from 'tap'
import { createGateway } from '../../lib/gateway.ts'
import { urlOf } from '../../lib/http/listen.ts'
import { createLog } from '../../lib/log/log.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'
import { settings } from '../support/settings.ts'

t.test('a gateway with a certificate serves https://', { skip: noOpenSsl }, async t => {
  const paths = makeCertificate(t.testdir({}))
  const gateway = await createGateway(settings({ server: { ...settings().server, tls: paths } }), {
    keys: { check: () => undefined },
    log: createLog('silent')
  })
  t.teardown(async () => await gateway.close())
  const url = urlOf(await gateway.listen())
  t.match(url, /^https:\/\/127\.0\.0\.1:\d+$/)
  const [response] = await once(
    request(`${url}/readyz`, { ca: readFileSync(paths.certificate), agent: false }).end(),
    'response'
  )
  t.equal(response.resume().statusCode, 200)
})

t.test('a TLS handshake that never completes times out like headers', { skip: noOpenSsl }, async t => {
  const paths = makeCertificate(t.testdir({}))
  const { server, limits } = settings()
  const gateway = await createGateway(
    settings({ server: { ...server, tls: paths }, limits: { ...limits, headersMs: 100 } }),
    { keys: { check: () => undefined }, log: createLog('silent') }
  )
  t.teardown(async () => await gateway.close())
  const { port } = new URL(urlOf(await gateway.listen()))
  for (const sent of ['', 'GET / HTTP/1.1\r\n\r\n']) {
    const socket = connect(Number(port), '127.0.0.1')
    const beganMs = performance.now()
    socket.write(sent)
    await once(socket.resume(), 'close')
    t.ok(performance.now() - beganMs < 20_000, 'not after the two minutes of Node.js')
  }
})

t.test('TLS versions before 1.2 and endless handshakes are refused', { skip: noOpenSsl }, async t => {
  const paths = makeCertificate(t.testdir({}))
  const gateway = await createGateway(settings({ server: { ...settings().server, tls: paths } }), {
    keys: { check: () => undefined },
    log: createLog('silent')
  })
  t.teardown(async () => await gateway.close())
  const port = Number(new URL(urlOf(await gateway.listen())).port)
  const open = (options: ConnectionOptions): TLSSocket =>
    connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  const old = { minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  for (const maxVersion of ['TLSv1', 'TLSv1.1'] as const) {
    const [error] = await once(open({ ...old, maxVersion }), 'error')
    t.equal(error.code, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', maxVersion)
  }
  const socket = open({ maxVersion: 'TLSv1.2' })
  await once(socket, 'secureConnect')
  let handshakes = 0
  const renegotiate = (): void => {
    socket.renegotiate({}, error => {
      if (error !== null || ++handshakes === 100) socket.destroy()
      else renegotiate()
    })
  }
  renegotiate()
  socket.on('error', () => undefined) // a connection reset counts as closed too
  await new Promise(resolve => { socket.resume().once('close', resolve) })
  t.ok(handshakes <= 3, `${handshakes} handshakes`)
})
