import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream
} from 'node:http2'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { httpTransport, type HttpTransport } from '../../lib/client/transport.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { turns } from '../support/turns.ts'
import { until } from '../support/until.ts'
import type { SendOptions, UpstreamRequest, UpstreamResponse } from '../../lib/providers/provider.ts'

const timeouts = {
  connectMs: 5000,
  firstByteMs: 5000,
  responseMs: 5000,
  idleBytesMs: 5000,
  idleEventsMs: 5000
}

interface Pair {
  readonly transport: HttpTransport
  /** Creates another transport to the server on this port. */
  readonly transportTo: (port: number) => HttpTransport
  readonly sessions: Set<ServerHttp2Session>
  readonly server: Http2SecureServer
}

/** Starts an HTTP/2 server, and a transport to it. */
async function pair (
  t: Test,
  answer: (stream: ServerHttp2Stream, path: string) => void,
  options: { readonly allowHTTP1?: boolean } = {}
): Promise<Pair> {
  const { certificate, key } = makeCertificate(t.testdir({}))
  const server = createSecureServer({ key: readFileSync(key), cert: readFileSync(certificate), ...options })
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', session => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session)).on('error', () => undefined)
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    answer(stream, String(headers[':path']))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a port
  const tls = { ca: new Secret(readFileSync(certificate, 'utf8')) }
  t.teardown(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  const transportTo = (to: number): HttpTransport => {
    const transport = httpTransport({
      baseUrl: `https://127.0.0.1:${to}/v1`,
      connectMs: 5000,
      http2: true,
      tls
    })
    t.teardown(async () => {
      await transport.close()
    })
    return transport
  }
  return { transport: transportTo(port), transportTo, sessions, server }
}

async function send (
  transport: HttpTransport,
  options: Partial<SendOptions> = {},
  request: Partial<UpstreamRequest> = {}
): Promise<UpstreamResponse> {
  return await transport.send(
    { method: 'POST', path: '/x', headers: {}, body: '{}', ...request },
    {
      signal: new AbortController().signal,
      credential: { authorization: 'Bearer k' },
      timeouts,
      streamed: false,
      ...options
    }
  )
}

const textOf = async ({ body }: UpstreamResponse): Promise<string> => (await body.buffer(1e7)).toString()

/** Echoes the body of the request. */
function echo (stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'x-one': 'two' })
  stream.pipe(stream)
}

t.test('requests share a connection, and each gets its own answer', { skip: noOpenSsl }, async t => {
  const { transport, sessions } = await pair(t, echo)
  const first = await send(transport)
  t.match(first, { status: 200, headers: { 'x-one': 'two' } })
  t.equal(await textOf(first), '{}')
  const bodies = Array.from({ length: 80 }, (_, number) => `${number} ${'ü'.repeat(number * 100)}`)
  t.same(
    await Promise.all(bodies.map(async body => await textOf(await send(transport, {}, { body })))),
    bodies
  )
  t.equal(sessions.size, 1)
  t.equal(transport.load().connections, 1)
})

t.test(
  'streamed and large bodies do not wait for other requests',
  { skip: noOpenSsl },
  async t => {
    const { transport } = await pair(t, (stream, path) => {
      if (!path.endsWith('/silent')) echo(stream)
    })
    t.equal(await textOf(await send(transport)), '{}', 'a connection is open')
    const leaving = new AbortController()
    const silent = send(transport, { signal: leaving.signal }, { path: '/silent' })
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('one ')
      yield Buffer.from('two')
    }
    t.equal(await textOf(await send(transport, {}, { body: pieces })), 'one two')
    const large = 'x'.repeat(1_000_000)
    t.equal(await textOf(await send(transport, {}, { body: large })), large)
    leaving.abort(new Error('enough'))
    await t.rejects(silent, { message: 'enough' })
  }
)

t.test('an aborted call ends only its own request, at any stage', { skip: noOpenSsl }, async t => {
  let closed = 0
  let requests = 0
  const { transport } = await pair(t, stream => {
    requests++
    stream.on('close', () => {
      closed++
    })
    stream.respond({ ':status': 200 })
    stream.write('a')
  })
  const early = new AbortController()
  const unsent = send(transport, { signal: early.signal })
  early.abort(new Error('before it is sent'))
  await t.rejects(unsent, { message: 'before it is sent' })
  const staying = await send(transport)
  const leaving = new AbortController()
  const left = await send(transport, { signal: leaving.signal })
  t.equal(requests, 2)
  leaving.abort(new Error('enough'))
  await t.rejects(textOf(left), { message: 'enough' })
  await until(() => closed === 1, 'the provider to see it')
  const bytes = staying.body[Symbol.asyncIterator]()
  t.equal(Buffer.from((await bytes.next()).value ?? '').toString(), 'a')
  staying.body.cancel()
  await until(() => closed === 2, 'the provider to see that as well')
})

t.test(
  'a request that a closing connection may have sent is not repeated',
  { skip: noOpenSsl },
  async t => {
    for (const end of [
      (session: ServerHttp2Session) => session.goaway(),
      (session: ServerHttp2Session) => session.destroy()
    ]) {
      const seen: string[] = []
      const { transport, sessions, server } = await pair(t, (stream, path) => {
        if (path.endsWith('/before')) return echo(stream)
        seen.push(path)
        if (path.endsWith('/after')) echo(stream)
      })
      let connections = 0
      server.on('session', () => {
        connections++
      })
      t.equal(
        await textOf(await send(transport, {}, { path: '/before' })),
        '{}',
        'one connection for all'
      )
      const open = Array.from(
        { length: 5 },
        async (_, number) => await send(transport, {}, { path: `/${number}` })
      )
      const results = Promise.allSettled(open)
      await until(() => seen.length === 5, 'five requests')
      for (const session of sessions) end(session)
      for (const result of await results) {
        t.match(result, { status: 'rejected', reason: { code: 'upstream_unreachable' } })
      }
      t.equal(await textOf(await send(transport, {}, { path: '/after' })), '{}')
      t.equal(connections, 2, 'no connection was opened for the others')
      t.same(seen.toSorted(), ['/v1/0', '/v1/1', '/v1/2', '/v1/3', '/v1/4', '/v1/after'])
    }
  }
)

t.test('timeouts and interruptions have their codes', { skip: noOpenSsl }, async t => {
  const { transport } = await pair(t, (stream, path) => {
    if (path.endsWith('/silent')) return
    if (path.endsWith('/refused')) return stream.close(7)
    stream.respond({ ':status': 200, 'content-length': 10 })
    stream.write('half')
    if (path.endsWith('/cut')) setImmediate(() => stream.close(2))
  })
  await t.rejects(send(transport, { timeouts: { ...timeouts, responseMs: 50 } }, { path: '/silent' }), {
    code: 'upstream_timeout'
  })
  await t.rejects(send(transport, {}, { path: '/refused' }), { code: 'upstream_unreachable' })
  await t.rejects(send(transport, {}, { path: '/cut' }).then(textOf), {
    code: 'upstream_stream_interrupted'
  })
  await t.rejects(
    send(transport, { timeouts: { ...timeouts, idleBytesMs: 50 } }, { path: '/stalled' }).then(textOf),
    { code: 'upstream_timeout' }
  )
})

t.test('backpressure of the reader reaches the provider', { skip: noOpenSsl }, async t => {
  let written = 0
  const { transport } = await pair(t, stream => {
    stream.respond({ ':status': 200 })
    const more = (): void => {
      while (!stream.destroyed && written < 400) {
        written++
        if (!stream.write(Buffer.alloc(64 * 1024))) return void stream.once('drain', more)
      }
      stream.end()
    }
    more()
  })
  const answer = await send(transport)
  let before = -1
  while (before !== written) {
    // until nothing more is accepted for many turns of the loop
    before = written
    for (let turn = 0; turn < 200; turn++) {
      await new Promise(resolve => {
        setImmediate(resolve)
      })
    }
  }
  t.ok(written < 200, `${written} of 400 pieces were taken`)
  let sizeBytes = 0
  for await (const bytes of answer.body) sizeBytes += bytes.length
  t.equal(sizeBytes, 400 * 64 * 1024)
})

t.test('trailers do not make an unread body look complete', { skip: noOpenSsl }, async t => {
  const sizeBytes = 200_000
  const { transport } = await pair(t, (stream, path) => {
    const length = path.endsWith('/length') ? { 'content-length': sizeBytes } : {}
    stream.respond({ ':status': 200, ...length }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'one' }))
    stream.end('x'.repeat(sizeBytes))
  })
  t.equal((await (await send(transport)).body.buffer(1e6)).length, sizeBytes, 'a reader that keeps up')
  for (const path of ['/', '/length']) {
    const late = await send(transport, {}, { path })
    await turns(200)
    await t.rejects(textOf(late), { code: 'upstream_stream_interrupted' })
  }
})

t.test(
  'a connection over which a response timed out takes no more requests',
  { skip: noOpenSsl },
  async t => {
    const { transportTo, server, sessions } = await pair(t, echo)
    const proxy = await startStallingProxy(t, (server.address() as AddressInfo).port) // a port
    const transport = transportTo(proxy.port)
    t.equal(await textOf(await send(transport)), '{}')
    proxy.stall()
    const timedOut = [50, 150].map(async responseMs => {
      await t.rejects(send(transport, { timeouts: { ...timeouts, responseMs } }), {
        code: 'upstream_timeout'
      })
    })
    await timedOut[0]
    proxy.admit()
    t.equal(await textOf(await send(transport)), '{}')
    await timedOut[1]
    t.equal(await textOf(await send(transport)), '{}')
    t.equal(sessions.size, 2, 'one that has stalled, and its replacement')
  }
)

t.test(
  'a request aborted before connecting keeps its slot until undici has dropped it',
  async t => {
    const mute = createTcpServer().listen(0, '127.0.0.1')
    await once(mute, 'listening')
    const { port } = mute.address() as AddressInfo // a port
    const transport = httpTransport({
      baseUrl: `https://127.0.0.1:${port}`,
      connections: 1,
      connectMs: 200,
      http2: true
    })
    t.teardown(async () => {
      await transport.close()
      mute.close()
    })
    const leaving = new AbortController()
    const left = send(transport, { signal: leaving.signal })
    leaving.abort(new Error('enough'))
    await t.rejects(left, { message: 'enough' }, 'its caller no longer waits')
    const next = send(transport)
    t.equal(transport.load().waiting, 1)
    await t.rejects(next, { code: 'upstream_unreachable' }, 'it was sent once the first was dropped')
  }
)

t.test('a server without HTTP/2 is refused', { skip: noOpenSsl }, async t => {
  const { createServer } = await import('node:https')
  const { certificate, key } = makeCertificate(t.testdir({}))
  const server = createServer(
    { key: readFileSync(key), cert: readFileSync(certificate), ALPNProtocols: ['http/1.1'] },
    (_request, response) => {
      response.end('no')
    }
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a port
  const transport = httpTransport({
    baseUrl: `https://127.0.0.1:${port}`,
    connectMs: 5000,
    http2: true,
    tls: { ca: new Secret(readFileSync(certificate, 'utf8')) }
  })
  t.teardown(async () => {
    await transport.close()
    server.close().closeAllConnections()
  })
  await t.rejects(send(transport), {
    code: 'upstream_unreachable',
    cause: { message: 'the server does not offer HTTP/2' }
  })
})
