import { once } from 'node:events'
import t from 'tap'
import { request } from 'undici'
import { isPipelined } from '../../lib/http/node-internals.ts'
import { allowedHosts, refuseMalformed, PipelinedRequests } from '../../lib/http/request-checks.ts'
import { raw, rest, requestText } from '../support/raw.ts'
import { refusal, smallApp } from '../support/small-app.ts'
import { httpServer } from '../support/http-server.ts'
import { testGateway, upstreamAt, testKey } from '../support/gateway.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'

t.test('a request that no endpoint could serve is refused before routing', async t => {
  const { url } = await smallApp(t)
  const rows: ReadonlyArray<readonly [title: string, request: string, status: number, message: string]> = [
    ['no Host', 'GET /plain HTTP/1.1\r\n', 400, 'The request has no Host header.'],
    [
      'two Hosts',
      'GET /plain HTTP/1.1\r\nhost: x\r\nHost: x\r\n',
      400,
      'The request has more than one Host header.'
    ],
    ['no URL', 'GET http://[ HTTP/1.1\r\nhost: x\r\n', 400, 'The URL of the request is not valid.'],
    [
      'an unknown expectation',
      'GET /plain HTTP/1.1\r\nhost: x\r\nexpect: nonsense\r\n',
      417,
      'Only the expectation `100-continue` is supported.'
    ],
    [
      'another transfer coding',
      'GET /plain HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n',
      400,
      'Only the transfer coding `chunked` is supported.'
    ]
  ]
  for (const [title, request, status, message] of rows) {
    const socket = await raw(t, url)
    socket.write(`${request}connection: close\r\n\r\n`)
    const [head = '', body = ''] = (await rest(socket)).split('\r\n\r\n')
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), title)
    t.same(JSON.parse(body), refusal(message, 'invalid_value'), title)
  }
})

t.test('a forbidden host name is refused in every place a request can carry it', async t => {
  const { url } = await smallApp(t, { allowsHost: allowedHosts({ host: '127.0.0.1', acceptedHosts: [] }) })
  const rows: ReadonlyArray<readonly [request: string, status: number]> = [
    ['GET /plain HTTP/1.1\r\nhost: localhost', 200],
    ['GET /plain HTTP/1.1\r\nhost: evil.example', 421],
    ['GET http://localhost/plain HTTP/1.1\r\nhost: localhost', 200],
    ['GET http://evil.example/plain HTTP/1.1\r\nhost: localhost', 421],
    ['GET http://localhost@evil.example/plain HTTP/1.1\r\nhost: localhost', 421],
    ['GET http://localhost/plain HTTP/1.1\r\nhost: evil.example', 421],
    ['GET /plain HTTP/1.0\r\nhost: localhost', 200],
    ['GET /plain HTTP/1.0', 400],
    ['GET http://evil.example/plain HTTP/1.0', 400]
  ]
  for (const [request, status] of rows) {
    const socket = await raw(t, url)
    socket.write(`${request}\r\nconnection: close\r\n\r\n`)
    t.match(await rest(socket), new RegExp(`^HTTP/1\\.1 ${status} `), request)
  }
})

/** Sends bytes to a server that refuses malformed HTTP, and reads everything it answers. */
async function answerTo (t: Test, ...pieces: readonly string[]): Promise<string> {
  const { server, url } = await httpServer(t, (_request, response) => { response.write('begun') })
  refuseMalformed(server)
  const socket = await raw(t, url)
  const [first = '', second] = pieces
  socket.write(first)
  if (second === undefined) return await rest(socket)
  const [begun] = await once(socket, 'data') as [Buffer]
  socket.write(second)
  await once(socket, 'close')
  return begun.toString()
}

t.test('malformed HTTP gets a normal error answer, and the connection is closed', async t => {
  const rows: ReadonlyArray<readonly [title: string, text: string, status: string, message: string]> = [
    ['no HTTP', 'hello\r\n\r\n', '400 Bad Request', 'The request is not valid HTTP.'],
    [
      'a header without an end of its name',
      'GET / HTTP/1.1\r\nhost x\r\n\r\n',
      '400 Bad Request',
      'The request is not valid HTTP.'
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      '400 Bad Request',
      'The request is not valid HTTP.'
    ],
    [
      'headers without end',
      `GET / HTTP/1.1\r\nx: ${'x'.repeat(70_000)}`,
      '431 Request Header Fields Too Large',
      'The request headers are too large.'
    ]
  ]
  for (const [title, text, status, message] of rows) {
    const [head = '', body = ''] = (await answerTo(t, text)).split('\r\n\r\n')
    const [line, ...headers] = head.split('\r\n')
    t.equal(line, `HTTP/1.1 ${status}`, title)
    t.match(
      headers,
      [
        /^x-request-id: \S+$/,
        'content-type: application/json; charset=utf-8',
        `content-length: ${body.length}`,
        'connection: close'
      ],
      title
    )
    t.same(
      JSON.parse(body),
      { error: { message, type: 'invalid_request_error', code: 'invalid_value', param: null } },
      title
    )
  }
})

t.test('an answer that has begun is cut off, and no other follows it', async t => {
  const text = await answerTo(t, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', 'no HTTP\r\n\r\n')
  t.match(text, /^HTTP\/1\.1 200 OK[^]*begun/)
  t.notMatch(text, 'invalid_value')
})

const livez = 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n'

function statuses (text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? '')
}

t.test('a connection may have 16 pending answers; the next request is refused and closes it', async t => {
  const api = await testGateway(t)
  const socket = await raw(t, api.url)
  socket.write(livez.repeat(200))
  const text = await rest(socket)
  const all = statuses(text)
  // The first may be served while the others are still being parsed, which makes room for one more.
  t.ok(all.length >= 17 && all.length <= 40, `${all.length} answers`)
  t.same(new Set(all.slice(0, -1)), new Set(['200']))
  t.equal(all.at(-1), '503')
  t.match(
    text,
    /connection: close\r\n[^]*Too many pipelined requests on this connection \(limit 16\)\.","type":"server_error","code":"overloaded","param":null}}$/i
  )
})

t.test('sequential requests are never refused', async t => {
  const api = await testGateway(t)
  const socket = await raw(t, api.url)
  for (let count = 0; count < 40; count++) {
    socket.write(livez)
    const [bytes] = await once(socket, 'data') as [Buffer]
    t.match(bytes.toString(), /^HTTP\/1\.1 200 /)
  }
})

t.test('the maximum number of pipelined requests is served', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`)] })
  const socket = await raw(t, api.url)
  const request = requestText('{"model":"openai/gpt-5","messages":"hi"}')
  socket.write(request.repeat(15) + request.replace('host: x', 'host: x\r\nconnection: close'))
  t.same(statuses(await rest(socket)), Array.from({ length: 16 }, () => '200'))
})

t.test(
  'a limit lowered below the pending requests refuses the next one and serves those',
  async t => {
    const pipelining = new PipelinedRequests(16)
    const open: ServerResponse[] = []
    let dropped = 0
    const { url } = await httpServer(t, (request, response) => {
      switch (isPipelined(response) ? pipelining.admit(request, response) : 'serve') {
        case 'serve':
          return void open.push(response)
        case 'refuse':
          return void response.writeHead(503).end()
        case 'drop':
          dropped++
      }
    })
    const socket = await raw(t, url)
    socket.write(livez.repeat(11))
    await until(() => open.length === 11, 'eleven requests')
    pipelining.maxUnanswered = 2
    socket.write(livez.repeat(3))
    await until(() => dropped === 2, 'the others to be dropped')
    for (const response of open) response.end()
    t.same(statuses(await rest(socket)), [...Array.from({ length: 11 }, () => '200'), '503'])
  }
)

t.test(
  '20,000 pipelined requests on each of 10 connections take no slot from a caller with a key',
  async t => {
    const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [upstreamAt(`${upstream.url}/v1`)],
      limits: { ...settings().limits, openCalls: 1 }
    })
    const flood = Buffer.from(livez.repeat(20_000))
    const sockets = await Promise.all(Array.from({ length: 10 }, async () => await raw(t, api.url)))
    for (const socket of sockets) socket.write(flood)
    t.equal((await api.post('/v1/chat/completions', { model: 'openai/gpt-5', messages: 'hi' })).status, 200)
    for (const socket of sockets) socket.resume()
    await until(
      () => sockets.every(socket => socket.closed),
      'every flooding connection to be closed',
      60_000
    )
    t.ok(api.lines.length < 500, `${api.lines.length} of 200,000 requests became calls`)
  }
)

t.test('on a loopback address only loopback names and configured host names are allowed', async t => {
  for (const host of ['127.0.0.1', '::1', 'localhost', '127.0.0.2']) {
    const allows = allowedHosts({ host, acceptedHosts: ['ai.example.com'] })
    for (const header of [
      'localhost',
      'LOCALHOST:8080',
      '127.0.0.1',
      '127.0.0.1:8080',
      '[::1]',
      '[::1]:8080',
      'AI.example.com',
      'ai.example.com:443'
    ]) {
      t.ok(allows(header), `${header} at ${host}`)
    }
    for (const header of [
      'evil.test',
      'evil.test:8080',
      '127.0.0.1.evil.test',
      'localhost.evil.test',
      '',
      'x.ai.example.com',
      '10.0.0.1',
      '[::2]'
    ]) {
      t.notOk(allows(header), `${header} at ${host}`)
    }
  }
})

t.test('on another address any host name is allowed unless some are configured', async t => {
  t.ok(allowedHosts({ host: '0.0.0.0', acceptedHosts: [] })('evil.test'))
  t.notOk(allowedHosts({ host: '0.0.0.0', acceptedHosts: ['ai.example.com'] })('evil.test'))
  t.ok(allowedHosts({ host: '127.0.0.1', acceptedHosts: ['*'] })('evil.test'))
})

t.test('a request with a forbidden host name is refused before its key is checked', async t => {
  const api = await testGateway(t, { server: { ...settings().server, acceptedHosts: [] } })
  const ask = async (host: string): Promise<number> => {
    const { statusCode, body } = await request(`${api.url}/v1/models`, {
      headers: { host, authorization: `Bearer ${testKey}` }
    })
    await body.dump()
    return statusCode
  }
  t.equal(await ask('evil.test'), 421)
  t.equal(await ask('localhost'), 200)
})
