import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createSecureServer } from 'node:https'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { withConnectTimeout, type Connect, type ConnectorOptions } from '../../lib/client/connector.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'
import { until } from '../support/until.ts'

async function connected (connect: Connect, { protocol, hostname, host, port }: URL): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    connect({ protocol, hostname, host, port }, (error, socket) => {
      if (error === null) resolve(socket)
      else reject(error)
    })
  })
}

/** Starts a server that accepts connections and sends nothing. */
async function muteServer (t: Test): Promise<{ readonly url: URL, readonly sockets: Socket[] }> {
  const sockets: Socket[] = []
  const mute = createServer(socket => {
    sockets.push(socket.resume().on('error', () => socket.destroy()))
  }).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  t.teardown(() => {
    mute.close()
  })
  const { port } = mute.address() as AddressInfo // a port, not a socket path
  return { url: new URL(`https://127.0.0.1:${port}`), sockets }
}

async function secureServer (t: Test): Promise<{ readonly url: URL, readonly ca: string }> {
  const { certificate, key } = makeCertificate(t.testdir({}))
  const server = createSecureServer({ key: readFileSync(key), cert: readFileSync(certificate) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close().closeAllConnections()
  })
  // a port, not a socket path
  return {
    url: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ca: readFileSync(certificate, 'utf8')
  }
}

t.test('a TLS handshake that takes too long is aborted, and its socket closed', async t => {
  const { url, sockets } = await muteServer(t)
  await t.rejects(connected(withConnectTimeout({ timeoutMs: 50 }), url), {
    code: 'ETIMEDOUT',
    message: 'no connection within 50 ms'
  })
  const [socket] = sockets
  if (socket !== undefined && !socket.destroyed) await once(socket, 'close')
})

t.test('a socket closed while connecting is reported once', async t => {
  const { url, sockets } = await muteServer(t)
  const results: unknown[] = []
  const { protocol, hostname, host, port } = url
  const connect = withConnectTimeout({ timeoutMs: 60_000 })
  const close = connect({ protocol, hostname, host, port }, (...[error]) => {
    results.push(error)
  })
  await until(() => sockets.length === 1, 'the connection')
  close()
  await until(() => sockets[0]?.destroyed === true, 'the server to see it closed')
  t.match(results, [{ message: 'the connection was closed before it was established' }])
  t.equal(results.length, 1)
})

t.test('over TLS the previous session is resumed', { skip: noOpenSsl }, async t => {
  const { url, ca } = await secureServer(t)
  const connect = withConnectTimeout({ timeoutMs: 20_000, tls: { ca } })
  const first = (await connected(connect, url)) as TLSSocket // for `https:`
  t.equal(first.isSessionReused(), false)
  await once(first, 'session')
  const second = (await connected(connect, url)) as TLSSocket // for `https:`
  t.equal(second.isSessionReused(), true)
  first.destroy()
  second.destroy()
})

t.test(
  'a server is accepted if its authority is trusted and it speaks the requested protocol',
  { skip: noOpenSsl },
  async t => {
    const { url, ca } = await secureServer(t)
    const attempt = async (options: Partial<ConnectorOptions>): Promise<unknown> => {
      const connect = withConnectTimeout({ timeoutMs: 20_000, ...options })
      const socket = await connected(connect, url).catch((error: unknown) => error)
      if (socket instanceof Error) return Reflect.get(socket, 'code') ?? socket.message
      t.equal((socket as TLSSocket).alpnProtocol, 'http/1.1') // for `https:`
      ;(socket as Socket).destroy() // not an error
      return 'connected'
    }
    t.equal(await attempt({}), 'DEPTH_ZERO_SELF_SIGNED_CERT')
    t.equal(await attempt({ tls: { ca } }), 'connected')
    t.equal(await attempt({ tls: { ca }, protocol: 'h2' }), 'the server does not offer HTTP/2')
  }
)
