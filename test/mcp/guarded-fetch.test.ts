import dns, { type LookupAddress, type LookupAllOptions } from 'node:dns'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { connect, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import t, { type Test } from 'tap'
import {
  createGuardedAgent,
  guardedFetch,
  type GuardedAgentOptions,
  type GuardedRequest
} from '../../lib/mcp/guarded-fetch.ts'
import { Secret } from '../../lib/core/secret.ts'
import { makeCertificate, noOpenSsl } from '../support/certificate.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { noTinyproxy, startTinyproxy } from '../support/tinyproxy.ts'
import { turns } from '../support/turns.ts'
import { until } from '../support/until.ts'
import type { AddressInfo, Socket } from 'node:net'
import type { IncomingMessage, ServerResponse } from 'node:http'

t.test('every spelling of an internal address is refused before anything is sent', async t => {
  const requests: string[] = []
  const port = await listen(t, request => { requests.push(request.url ?? '') }, '0.0.0.0')
  const hosts = [
    'localhost', 'LOCALHOST', '127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001',
    '0x7f.1', '0177.0.0.1', '017700000001', '0', '0.0.0.0', '[::1]', '[::]', '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]', '[::127.0.0.1]', '[::7f00:1]', '[0:0:0:0:0:0:0:1]', '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]', '169.254.169.254', '[::ffff:169.254.169.254]', '[fd00:ec2::254]', '[fe80::1]',
    '[fd00::1]', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '192.0.0.1', '192.0.2.1',
    '198.18.0.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '１２７.０.０.１',
    '①②⑦.⓪.⓪.①', '[2001::1]', '[2001:db8::1]', '[ff02::1]'
  ]
  for (const host of hosts) {
    t.equal(await failure(t, `http://${host}:${port}/`), 'ADDRESS_REFUSED', host)
  }
  t.strictSame(requests, [])
})

t.test('the configuration allows hosts, hosts with a port, addresses and ranges', async t => {
  const port = await listen(t, (_, response) => response.end('here'))
  const other = await listen(t, (_, response) => response.end('there'))
  const reach = async (allowed: string[], url: string): Promise<string> => await failure(t, url, { allowed })
  const name = `http://localhost:${port}/`
  const address = `http://127.0.0.1:${port}/`
  t.equal(await reach(['localhost'], name), 'here')
  t.equal(await reach(['LocalHost'], name), 'here')
  t.equal(await reach([`localhost:${port}`], name), 'here')
  t.equal(await reach([`localhost:${port}`], `http://localhost:${other}/`), 'ADDRESS_REFUSED')
  t.equal(await reach(['localhost'], address), 'ADDRESS_REFUSED')
  t.equal(await reach(['127.0.0.1'], address), 'here')
  t.equal(await reach(['127.0.0.1', '::1'], name), 'here')
  t.equal(await reach([`127.0.0.1:${port}`], address), 'here')
  t.equal(await reach(['127.0.0.0/8'], address), 'here')
  t.equal(await reach(['127.0.0.0/8'], `http://[::ffff:127.0.0.1]:${port}/`), 'here')
  t.equal(await reach(['127.0.0.0/8', '::1/128'], name), 'here')
  t.equal(await reach(['10.0.0.0/8', 'example.com'], address), 'ADDRESS_REFUSED')
})

t.test('a redirect is checked like any other address', async t => {
  const inner = await listen(t, (_, response) => response.end('secret'))
  const outer = await listen(t, (_, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${inner}/` }).end()
  })
  t.equal(
    await failure(t, `http://localhost:${outer}/`, { allowed: [`localhost:${outer}`] }),
    'ADDRESS_REFUSED'
  )
})

t.test('three redirects are followed, the fourth is returned unfollowed', async t => {
  const port = await listen(t, (request, response) => {
    const left = Number(request.url?.slice(1))
    if (left === 0) response.end('arrived')
    else response.writeHead(307, { location: `/${left - 1}` }).end()
  })
  const agent = safeAgent(t, { allowed: ['127.0.0.1'] })
  const fetched = async (path: string): Promise<number> =>
    (
      await guardedFetch(
        `http://127.0.0.1:${port}/${path}`,
        { method: 'POST', body: 'x' },
        { agent, maxBytes: 100 }
      )
    ).status
  t.equal(await fetched('3'), 200)
  t.equal(await fetched('4'), 307)
})

t.test('credentials and bodies never reach another origin', async t => {
  const seen: IncomingMessage[] = []
  const second = await listen(t, (request, response) => {
    seen.push(request)
    response.end('second')
  })
  const first = await listen(t, (_, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${second}/` }).end()
  })
  const agent = safeAgent(t, { allowed: ['127.0.0.1'] })
  const send = async (init: GuardedRequest): Promise<number> =>
    (await guardedFetch(`http://127.0.0.1:${first}/`, init, { agent, maxBytes: 100 })).status
  const headers = {
    authorization: 'Bearer key',
    cookie: 'a=b',
    'x-mcp-credentials': 'sealed',
    accept: 'text/plain'
  }
  t.equal(await send({ headers }), 200)
  t.equal(seen[0]?.headers.accept, 'text/plain')
  t.match(seen[0]?.headers, { authorization: undefined, cookie: undefined, 'x-mcp-credentials': undefined })
  t.equal(await send({ method: 'POST', body: 'x', headers }), 307)
  t.equal(seen.length, 1)
})

t.test('an answer that is too long fails while it is read', async t => {
  const port = await listen(t, (_, response) => response.end('x'.repeat(1000)))
  const agent = safeAgent(t, { allowed: ['127.0.0.1'] })
  const get = async (maxBytes: number): Promise<string> =>
    await (await guardedFetch(`http://127.0.0.1:${port}/`, {}, { agent, maxBytes })).text()
  t.equal((await get(1000)).length, 1000)
  await t.rejects(get(999), /longer than 999 bytes/)
})

t.test('the bytes of an unread answer are counted, up to their maximum', async t => {
  const maxBytes = 100_000
  let closed = 0
  const port = await listen(t, (request, response) => {
    request.socket.once('close', () => { closed++ })
    response.write('x'.repeat(maxBytes))
    if (request.url === '/long') response.write('x'.repeat(maxBytes))
  })
  const agent = safeAgent(t, { allowed: ['127.0.0.1'] })
  for (const path of ['/whole', '/long']) {
    let taken = 0
    const memory = { take: (bytes: number) => { taken += bytes }, release: () => {} }
    const { body } = await guardedFetch(`http://127.0.0.1:${port}${path}`, {}, { agent, maxBytes, memory })
    if (path === '/whole') await until(() => taken === 2 * maxBytes, 'the answer to arrive')
    else await until(() => closed === 1, 'the socket to close')
    t.ok(taken <= 2 * maxBytes, `${path}: ${taken}`)
    if (path === '/long') await t.rejects(new Response(body).text(), /longer than 100000 bytes/)
    else await body?.cancel().then(async () => await until(() => closed === 1, 'the socket to close'))
    closed = 0
  }
})

t.test(
  'an answer that would take too long to parse fails, per message in an event stream',
  async t => {
    const message = `[${'1,'.repeat(98)}1]`
    const port = await listen(t, ({ url }, response) => {
      response.writeHead(200, {
        'content-type': url === '/stream' ? 'text/event-stream; charset=utf-8' : 'application/json'
      })
      response.end(url === '/stream' ? `data: ${message}\n\n`.repeat(50) : message)
    })
    const agent = safeAgent(t, { allowed: ['127.0.0.1'] })
    const get = async (path: string, maxParseCost: number): Promise<number> =>
      (
        await (
          await guardedFetch(
            `http://127.0.0.1:${port}${path}`,
            {},
            { agent, maxBytes: 100_000, maxParseCost }
          )
        ).text()
      ).length
    t.equal(await get('/', 107), message.length)
    await t.rejects(get('/', 106), /too many values/)
    t.ok(await get('/stream', 300))
    await t.rejects(get('/stream', 90), /too many values/)
  }
)

t.test('an answer nested too deeply to print fails', async t => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
  const port = await listen(t, ({ url }, response) => response.end(nested(Number(url?.slice(1)))))
  const agent = safeAgent(t, { allowed: ['127.0.0.1'] })
  const get = async (levels: number): Promise<string> =>
    await (
      await guardedFetch(
        `http://127.0.0.1:${port}/${levels}`,
        {},
        { agent, maxBytes: 100_000, maxParseCost: 250_000 }
      )
    ).text()
  t.equal(await get(256), nested(256))
  await t.rejects(get(257), /nested deeper than 256 levels/)
  await t.rejects(get(20_000), /nested deeper than 256 levels/)
})

t.test('an answer without a body keeps its connection open, an abandoned answer closes it', async t => {
  let closed = 0
  let ends = 0
  const port = await listen(t, (request, response) => {
    request.socket.once('close', () => { closed++ })
    if (request.url === '/none') response.writeHead(204).end()
    else if (request.url === '/odd') response.writeHead(700).write('x')
    else response.write('x')
  })
  const agent = safeAgent(t, { allowed: ['127.0.0.1'] })
  const get = async (path: string) =>
    await guardedFetch(
      `http://127.0.0.1:${port}${path}`,
      {},
      { agent, maxBytes: 100, onEnd: () => { ends++ } }
    )
  for (const _ of [1, 2]) t.match(await get('/none'), { status: 204, body: null })
  t.equal(closed, 0)
  await (await get('/open')).body?.cancel()
  await until(() => closed > 0, 'the socket to close')
  await t.rejects(get('/odd'), /700 is not an HTTP status/)
  await until(() => closed === 2, 'the other socket to close')
  t.equal(ends, 4)
})

t.test('ports of other protocols are blocked, as in browsers', async t => {
  const refused = [1, 7, 22, 25, 110, 143, 465, 587, 993, 2049, 6000, 6667, 10080]
  for (const port of refused) {
    t.equal(await failure(t, `http://127.0.0.1:${port}/`, { allowed: ['127.0.0.1'] }), 'PORT_REFUSED')
  }
  const port = await listen(t, (_, response) => {
    response.writeHead(302, { location: 'http://127.0.0.1:25/' }).end()
  })
  t.equal(await failure(t, `http://127.0.0.1:${port}/`, { allowed: ['127.0.0.1'] }), 'PORT_REFUSED')
})

t.test('only http and https are fetched', async t => {
  const agent = safeAgent(t, { allowed: [] })
  for (const url of ['file:///etc/passwd', 'data:text/plain,x', 'ftp://example.com/']) {
    await t.rejects(guardedFetch(url, {}, { agent, maxBytes: 100 }), /only http and https/)
  }
})

/** Returns the body of the answer, or the code of the error that stopped the request. */
t.test('an answer that ends with its connection is read completely, however slowly it comes', async t => {
  const sizeBytes = 1_000_000
  const agent = safeAgent(t, { allowed: ['127.0.0.1'] })
  for (const headers of [{ connection: 'close' }, { connection: 'close', 'content-length': sizeBytes }]) {
    const port = await listen(t, (_, response) => {
      response.writeHead(200, headers).end('x'.repeat(sizeBytes))
    })
    const { body } = await guardedFetch(`http://127.0.0.1:${port}/`, {}, { agent, maxBytes: sizeBytes })
    let readBytes = 0
    for await (const bytes of body ?? []) {
      readBytes += bytes.length
      await turns(5)
    }
    t.equal(readBytes, sizeBytes)
  }
})

/** Resolves names to the given addresses while a test runs. */
function resolveNames (t: Test, names: Readonly<Record<string, readonly string[]>>): void {
  const { lookup } = dns
  type Callback = (error: Error | null, addresses: LookupAddress[]) => void
  Reflect.set(dns, 'lookup', (name: string, ...rest: [LookupAllOptions, Callback]) => {
    const addresses = names[name]?.map(address => ({ address, family: isIP(address) }))
    if (addresses === undefined) lookup(name, ...rest)
    else rest[1](null, addresses)
  })
  syncBuiltinESMExports()
  t.teardown(() => {
    dns.lookup = lookup
    syncBuiltinESMExports()
  })
}

t.test('a name that resolves elsewhere after its check leads nowhere else', async t => {
  const answers = [['127.0.0.2'], ['127.0.0.1'], ['127.0.0.2', '127.0.0.1'], ['127.0.0.2']]
  let lookups = 0
  resolveNames(t, { get 'tools.example' () { return answers[lookups++] ?? [] } })
  const reached: unknown[] = []
  const port = await listen(
    t,
    ({ socket }, response) => {
      reached.push(socket.localAddress)
      response.setHeader('connection', 'close').end('ok')
    },
    '0.0.0.0'
  )
  const agent = safeAgent(t, { allowed: ['127.0.0.2'] }) // stands for a public address
  const fetched = async (): Promise<string> =>
    await (await guardedFetch(`http://tools.example:${port}/`, {}, { agent, maxBytes: 100 })).text()
  t.equal(await fetched(), 'ok')
  t.equal(lookups, 1, 'the address that was checked is the one that is connected to')
  await t.rejects(fetched(), { code: 'ADDRESS_REFUSED' }, 'each connection is checked')
  await t.rejects(fetched(), { code: 'ADDRESS_REFUSED' }, 'each address of the name is checked')
  t.equal(await fetched(), 'ok')
  t.same(reached, ['127.0.0.2', '127.0.0.2'])
})

t.test('a proxy gets the checked address, and only TLS has the name', { skip: noOpenSsl }, async t => {
  resolveNames(t, { 'tools.example': ['93.184.215.14'], 'two.example': ['93.184.215.15', '10.0.0.1'] })
  const { certificate, key } = makeCertificate(t.testdir({}))
  const names: unknown[] = []
  const server = createSecureServer({ key: readFileSync(key), cert: readFileSync(certificate) })
  server.on('tlsClientError', (_error, socket) => names.push(socket.servername))
  const securePort = await listen(t, () => undefined, '127.0.0.1', server)
  const secure = await startConnectProxy(t, undefined, `127.0.0.1:${securePort}`)
  t.match(
    await failure(t, 'https://tools.example/', { proxy: { url: secure.url } }),
    /SELF_SIGNED/,
    'its certificate is checked'
  )
  await until(() => names.length === 1, 'the server to see the name')
  t.same(names, ['tools.example'])
  t.same(secure.requests.map(({ target }) => target), ['93.184.215.14:443'])
  const hosts: unknown[] = []
  const port = await listen(t, ({ headers }, response) => response.end(hosts.push(headers.host) && 'ok'))
  const plain = await startConnectProxy(t, undefined, `127.0.0.1:${port}`)
  t.equal(await failure(t, 'http://tools.example:8080/', { proxy: { url: plain.url } }), 'ok')
  t.same(hosts, ['tools.example:8080'])
  t.equal(await failure(t, 'http://two.example/', { proxy: { url: plain.url } }), 'ADDRESS_REFUSED')
  t.same(plain.requests.map(({ target }) => target), ['93.184.215.14:8080'])
})

t.test('it is enough if the proxy reaches one address of a server', async t => {
  resolveNames(t, { 'tools.example': ['2606:2800:21f:cb07::1', '93.184.215.14'] })
  const port = await listen(t, (_, response) => response.end('ok'))
  const targets: unknown[] = []
  const proxy = createServer().on('connect', ({ url }, socket: Socket) => {
    targets.push(url)
    if (targets.length === 1) return socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    const upstream = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
    upstream.pipe(socket).pipe(upstream).on('error', () => socket.destroy())
    socket.on('error', () => upstream.destroy())
  })
  const url = `http://127.0.0.1:${await listen(t, () => undefined, '127.0.0.1', proxy)}`
  t.equal(await failure(t, 'http://tools.example/', { proxy: { url } }), 'ok')
  t.same(targets, ['[2606:2800:21f:cb07::1]:80', '93.184.215.14:80'])
})

t.test('the addresses of a server share the time to connect through a proxy', async t => {
  const hundred = Array.from({ length: 100 }, (_, index) => `93.184.215.${index}`)
  resolveNames(t, { 'many.example': hundred, 'tools.example': ['93.184.216.1', '93.184.216.2'] })
  const mute = await startConnectProxy(t, 'nothing')
  t.equal(
    await failure(t, 'http://many.example/', { connectMs: 200, proxy: { url: mute.url } }),
    'ETIMEDOUT'
  )
  t.same(
    mute.requests.map(({ target }) => target),
    ['93.184.215.0:80', '93.184.215.1:80', '93.184.215.2:80', '93.184.215.3:80']
  )
  const port = await listen(t, (_, response) => response.end('ok'))
  const proxy = createServer().on('connect', ({ url }, socket: Socket) => {
    if (url === '93.184.216.1:80') return socket.on('end', () => socket.destroy()).resume()
    const upstream = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
    upstream.pipe(socket).pipe(upstream).on('error', () => socket.destroy())
    socket.on('error', () => upstream.destroy())
  })
  const url = `http://127.0.0.1:${await listen(t, () => undefined, '127.0.0.1', proxy)}`
  const connectMs = 2000
  const agent = safeAgent(t, { connectMs, proxy: { url } })
  const answer = await guardedFetch(
    'http://tools.example/',
    { signal: AbortSignal.timeout(connectMs) },
    { agent, maxBytes: 1000 }
  )
  t.equal(await answer.text(), 'ok', 'the first address hangs, and leaves time to the second')
})

t.test('this machine, link-local addresses and metadata services are never proxied', async t => {
  resolveNames(t, { 'here.example': ['127.0.0.1'], 'metadata.google.internal': ['127.0.0.1'] })
  const port = await listen(t, (_, response) => response.end('here'))
  const beyond = await listen(t, (_, response) => response.end('through the proxy'))
  const proxy = await startConnectProxy(t, undefined, `127.0.0.1:${beyond}`)
  const allowed = ['127.0.0.0/8', 'localhost', 'metadata.google.internal', '169.254.0.0/16']
  const options = { allowed, connectMs: 50, proxy: { url: proxy.url } }
  for (const host of ['127.0.0.1', 'here.example', 'METADATA.google.internal', '[::ffff:127.0.0.1]']) {
    t.equal(await failure(t, `http://${host}:${port}/`, options), 'here', host)
  }
  await failure(t, `http://169.254.169.254:${port}/`, options)
  t.same(proxy.requests, [])
  t.equal(await failure(t, 'http://10.0.0.1/', options), 'ADDRESS_REFUSED', 'checked as without a proxy')
})

/** An address of this machine on its network. */
const ownAddress = Object.values(networkInterfaces())
  .flat()
  .find(one => one?.internal === false && one.family === 'IPv4')?.address

t.test(
  'tool servers are reached through tinyproxy',
  { skip: noTinyproxy || (ownAddress === undefined && 'this machine has no address beyond loopback') },
  async t => {
    const host = ownAddress ?? ''
    resolveNames(t, { 'tools.example': [host] })
    const port = await listen(t, (_, response) => response.end('ok'), host)
    const proxy = await startTinyproxy(t)
    const through = async (credentials: string): Promise<string> =>
      await failure(t, `http://tools.example:${port}/`, {
        allowed: [host],
        proxy: { url: `http://${proxy.host}`, credentials: new Secret(credentials) }
      })
    t.equal(await through('me:secret'), 'ok')
    t.match(await through('me:wrong'), /the proxy answered 40[17]/)
    t.same(proxy.targets().slice(0, 1), [`${host}:${port}`])
  }
)

async function failure (t: Test, url: string, options: GuardedAgentOptions = {}): Promise<string> {
  const agent = safeAgent(t, options)
  try {
    return await (await guardedFetch(url, {}, { agent, maxBytes: 1000 })).text()
  } catch (error) {
    const { code } = error as { code?: string } // of undici
    return code ?? String(error)
  }
}

function safeAgent (t: Test, options: GuardedAgentOptions) {
  const agent = createGuardedAgent(options)
  t.teardown(async () => await agent.destroy())
  return agent
}

async function listen (
  t: Test,
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  host = '127.0.0.1',
  server: Server | SecureServer = createServer()
): Promise<number> {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => { handle(request, response) })
  await new Promise<void>(resolve => { server.listen(0, host, resolve) })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port // listening on TCP
}
