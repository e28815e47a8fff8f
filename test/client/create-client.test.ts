import { once } from 'node:events'
import { createServer as createSecureServer, type Server } from 'node:https'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { httpTransport, type HttpTransport, type HttpTransportOptions } from '../../lib/client/transport.ts'
import { makeAuthority, type CertificateAuthority } from '../support/certificate-authority.ts'
import { noOpenSsl } from '../support/certificate.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { closedUrl } from '../support/closed-port.ts'
import { readSlowly } from '../support/read-slowly.ts'
import { noTinyproxy, startTinyproxy } from '../support/tinyproxy.ts'
import { fakeUpstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'
import type { SendOptions } from '../../lib/providers/provider.ts'

const timeouts = {
  connectMs: 5000,
  firstByteMs: 5000,
  responseMs: 5000,
  idleBytesMs: 5000,
  idleEventsMs: 5000
}

function transportTo (t: Test, baseUrl: string, options: Partial<HttpTransportOptions> = {}): HttpTransport {
  const transport = httpTransport({ baseUrl, connectMs: 5000, ...options })
  t.teardown(async () => {
    await transport.close()
  })
  return transport
}

async function send (
  transport: HttpTransport,
  options: Partial<SendOptions> = {},
  body = '{}'
): Promise<string> {
  const answer = await transport.send(
    { method: 'POST', path: '/x', headers: {}, body },
    {
      signal: new AbortController().signal,
      credential: {},
      timeouts,
      streamed: false,
      ...options
    }
  )
  return `${answer.status} ${(await answer.body.buffer(1e6)).toString()}`
}

const authorityIn = (t: Test): CertificateAuthority => makeAuthority(t.testdir({}))

/** Starts a server that requires a client certificate of the authority, and answers with its name. */
async function strictServer (
  t: Test,
  { ca, server: pair }: CertificateAuthority
): Promise<{ readonly url: string, readonly server: Server }> {
  const server = createSecureServer(
    { ...pair, ca, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      const { subject } = Reflect.get(request.socket, 'getPeerCertificate').call(request.socket)
      request.resume().on('end', () => response.end(`hello ${subject.CN}`))
    }
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close().closeAllConnections()
  })
  return { server, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` } // a port
}

const secrets = ({ ca, client }: CertificateAuthority) => ({
  ca: new Secret(ca),
  cert: new Secret(client.cert),
  key: new Secret(client.key)
})

t.test(
  'a server with a private certificate authority is reached, with a client certificate',
  { skip: noOpenSsl },
  async t => {
    const authority = authorityIn(t)
    const { url } = await strictServer(t, authority)
    const { ca, cert, key } = secrets(authority)
    t.equal(await send(transportTo(t, url, { tls: { ca, cert, key } })), '200 hello gateway')
    await t.rejects(
      send(transportTo(t, url, { tls: { ca } })),
      { code: 'upstream_unreachable' },
      'without a client certificate'
    )
    await t.rejects(send(transportTo(t, url, { tls: { cert, key } })), {
      code: 'upstream_unreachable',
      cause: { code: /SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY/ }
    })
  }
)

t.test('requests use a proxy with its credentials, through a tunnel that is reused', async t => {
  const upstream = await fakeUpstream({ pieces: ['ok'] })
  t.teardown(upstream.close)
  const proxy = await startConnectProxy(t)
  const transport = transportTo(t, upstream.url, {
    proxy: { url: proxy.url, credentials: new Secret('me:p@ss') }
  })
  for (let round = 0; round < 3; round++) t.equal(await send(transport), '200 ok')
  const expected = [
    {
      target: new URL(upstream.url).host,
      authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`
    }
  ]
  t.same(proxy.requests, expected)
  t.same(transport.load(), { connections: 1, waiting: 0, refused: 0 })
  t.equal(upstream.requests[0]?.headers['proxy-authorization'], undefined, 'the provider does not see them')
  t.equal(upstream.requests[0]?.headers.host, new URL(upstream.url).host)
  proxy.closeTunnels()
  await until(() => transport.load().connections === 0, 'the closed tunnel to be forgotten')
  t.equal(await send(transport), '200 ok')
  t.equal(proxy.requests.length, 2)
})

t.test(
  'slow readers get a whole body that ends with its tunnel, unless the tunnel is reset',
  { skip: noOpenSsl },
  async t => {
    const authority = authorityIn(t)
    const { ca } = secrets(authority)
    const sizeBytes = 1_000_000
    const last = `HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${'x'.repeat(sizeBytes)}`
    const proxy = await startConnectProxy(t)
    for (const server of [createServer(), createTlsServer(authority.server)]) {
      const sockets: Socket[] = []
      let ends = true
      server.on('connection', (socket: Socket) => {
        sockets.push(socket)
      })
      server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
        socket
          .on('error', () => socket.destroy())
          .once('data', () => {
            if (ends) socket.end(last)
            else socket.write(last.slice(0, 20_000))
          })
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      t.teardown(() => {
        server.close()
      })
      const { port } = server.address() as AddressInfo // a port
      const url = `${server instanceof TlsServer ? 'https' : 'http'}://127.0.0.1:${port}`
      const reset = (): void => {
        for (const socket of sockets) socket.resetAndDestroy()
      }
      const ways = [
        [{}, reset],
        [{ proxy: { url: proxy.url } }, proxy.resetTunnels]
      ] as const
      for (const [options, cut] of ways) {
        const transport = transportTo(t, url, { tls: { ca }, ...options })
        ends = true
        t.equal(await readSlowly(transport), sizeBytes)
        ends = false
        await t.rejects(readSlowly(transport, cut), { code: 'upstream_stream_interrupted' })
      }
    }
  }
)

t.test('TLS is terminated at the provider, not at the proxy', { skip: noOpenSsl }, async t => {
  const authority = authorityIn(t)
  const { url } = await strictServer(t, authority)
  const proxy = await startConnectProxy(t)
  const transport = transportTo(t, url, { tls: secrets(authority), proxy: { url: proxy.url } })
  t.equal(await send(transport), '200 hello gateway')
  t.same(proxy.requests, [{ target: new URL(url).host, authorization: undefined }])
})

t.test(
  'a proxy that refuses, is missing or hangs fails the call, without its credentials in the error',
  async t => {
    const upstream = await fakeUpstream({ pieces: ['ok'] })
    t.teardown(upstream.close)
    const credentials = new Secret('me:very-secret')
    const failureOf = async (url: string, connectMs = 5000): Promise<unknown> => {
      const transport = transportTo(t, upstream.url, { connectMs, proxy: { url, credentials } })
      return await send(transport).catch((error: unknown) => error)
    }
    const refusing = await startConnectProxy(t, 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    const mute = await startConnectProxy(t, 'nothing')
    for (const [url, ms] of [
      [refusing.url, 5000],
      [closedUrl, 5000],
      [mute.url, 100]
    ] as const) {
      const failure = await failureOf(url, ms)
      t.match(failure, { code: 'upstream_unreachable', mayBeBilled: false })
      t.notMatch(
        JSON.stringify(failure, Object.getOwnPropertyNames(failure)) +
          String(Reflect.get(Object(failure), 'cause')),
        /secret|Basic/
      )
    }
    t.equal(upstream.requests.length, 0)
  }
)

t.test('a proxy that closes the connection is asked once', async t => {
  let asked = 0
  const proxy = createServer(socket => {
    asked++
    socket.on('error', () => undefined).once('data', () => socket.end())
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    proxy.close()
  })
  const { port } = proxy.address() as AddressInfo // of a port
  const transport = transportTo(t, closedUrl, { proxy: { url: `http://127.0.0.1:${port}` } })
  await t.rejects(send(transport), {
    code: 'upstream_unreachable',
    mayBeBilled: false,
    cause: { message: 'the proxy closed the connection before the tunnel was open' }
  })
  t.equal(asked, 1)
})

t.test('a tunnel that takes too long ends the call, with one deadline for all its steps', async t => {
  const silent = createServer(socket => {
    socket.on('error', () => socket.destroy()).resume()
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    silent.close()
  })
  const host = `127.0.0.1:${(silent.address() as AddressInfo).port}` // a port
  const connectMs = 1200 // undici's timer has steps of a second
  for (const [step, url] of [
    ['the answer of the proxy', `http://${host}`],
    ['TLS with the provider', (await startConnectProxy(t)).url]
  ] as const) {
    const transport = transportTo(t, `https://${host}`, { connectMs, proxy: { url } })
    const startMs = performance.now()
    await t.rejects(send(transport), {
      code: 'upstream_unreachable',
      mayBeBilled: false,
      cause: { code: 'ETIMEDOUT', message: `no connection within ${connectMs} ms` }
    }, step)
    t.ok(performance.now() - startMs > connectMs - 100, `${step}: not early`)
  }
})

t.test('a call aborted while the tunnel is established is never sent', async t => {
  const upstream = await fakeUpstream({ pieces: ['ok'] })
  t.teardown(upstream.close)
  const proxy = await startConnectProxy(t)
  const transport = transportTo(t, upstream.url, { proxy: { url: proxy.url } })
  const leaving = new AbortController()
  const left = send(transport, { signal: leaving.signal })
  await until(() => proxy.requests.length === 1, 'the proxy to be asked')
  leaving.abort(new Error('enough'))
  await t.rejects(left, { message: 'enough' })
  t.equal(await send(transport), '200 ok')
  t.equal(upstream.requests.length, 1)
  await until(() => proxy.open() === 1, 'the first tunnel to be closed')
})

t.test('a call aborted while connecting closes the connection at once', async t => {
  const sockets = new Set<Socket>()
  let hellos = 0
  const silent = createServer(socket => {
    sockets.add(socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket)))
    socket.once('data', () => hellos++).resume()
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    silent.close()
  })
  const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}` // a port
  const leave = async (isWaiting: () => boolean, proxyUrl?: string): Promise<void> => {
    const proxy = proxyUrl === undefined ? undefined : { url: proxyUrl }
    const leaving = new AbortController()
    const left = send(transportTo(t, url, { connectMs: 60_000, proxy }), { signal: leaving.signal })
    await until(isWaiting, 'the connection')
    leaving.abort(new Error('enough'))
    await t.rejects(left, { message: 'enough' })
  }
  await leave(() => hellos === 1)
  await until(() => sockets.size === 0, 'the connection to the provider to be closed')
  const tunnels = await startConnectProxy(t)
  await leave(() => hellos === 2, tunnels.url)
  await until(() => sockets.size === 0 && tunnels.connections() === 0, 'the tunnel to be closed')
  const mute = await startConnectProxy(t, 'nothing')
  await leave(() => mute.requests.length === 1, mute.url)
  await until(() => mute.connections() === 0, 'the connection to the proxy to be closed')
})

t.test('requests work through tinyproxy', { skip: noTinyproxy || noOpenSsl }, async t => {
  const authority = authorityIn(t)
  const { url } = await strictServer(t, authority)
  const proxy = await startTinyproxy(t)
  const through = (credentials: string): HttpTransport =>
    transportTo(t, url, {
      tls: secrets(authority),
      proxy: { url: `http://${proxy.host}`, credentials: new Secret(credentials) }
    })
  const transport = through('me:secret')
  for (let round = 0; round < 2; round++) {
    t.equal(await send(transport, {}, 'x'.repeat(300_000)), '200 hello gateway')
  }
  await t.rejects(send(through('me:wrong')), { code: 'upstream_unreachable' })
})
