import { createServer } from 'node:http'
import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { createApp, type App } from '../../lib/http/app.ts'
import { listen, urlOf } from '../../lib/http/listen.ts'
import { raw, rest } from '../support/raw.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import type { Call } from '../../lib/core/call.ts'
import type { Endpoint } from '../../lib/core/endpoint.ts'
import type { Test } from 'tap'

interface Served {
  readonly app: App
  readonly url: string
  readonly ended: readonly Call[]
  /** Ends in the answer of `/wait`. */
  readonly go: () => void
}

async function serve (t: Test, draining = (): boolean => false): Promise<Served> {
  const ended: Call[] = []
  let go = (): void => undefined
  const opened = new Promise<void>(resolve => { go = resolve })
  const text = (body: string): ReturnType<Endpoint['handle']> => Promise.resolve({ status: 200, headers: { 'content-type': 'text/plain' }, body })
  const get = { method: 'GET', body: 'none', maxBodyBytes: 0 } as const
  const endpoints: Endpoint[] = [
    { ...get, name: 'plain', path: '/plain', handle: async () => await text('plain') },
    { ...get, name: 'one', path: '/things/:id', handle: async ({ params }) => await text(`thing ${params['id']}`) },
    { ...get, name: 'gone', method: 'DELETE', path: '/things/:id', handle: async () => await text('deleted') },
    { ...get, name: 'broken', path: '/broken', handle: async () => await Promise.reject(new Error('private')) },
    { ...get, name: 'throws', path: '/throws', handle: () => { throw new GatewayError('not_found') } },
    { ...get, name: 'wait', path: '/wait', handle: async () => { await opened; return await text('waited') } },
    { ...get, name: 'stuck', path: '/stuck', handle: async ({ signal }) => await new Promise((_resolve, reject) => { signal.addEventListener('abort', () => reject(signal.reason)) }) }
  ]
  const app = createApp({ endpoints: () => endpoints, limits: settings().limits, draining, onEnd: call => { ended.push(call) } })
  const server = createServer({ requireHostHeader: false }, app.handle)
  server.on('checkExpectation', app.handle)
  t.teardown(() => { server.close().closeAllConnections() })
  return { app, url: urlOf(await listen(server, { host: '127.0.0.1', port: 0 })), ended, go }
}

function refusal (message: string, code: string, type = 'invalid_request_error'): object {
  return { error: { message, type, code, param: null } }
}

t.test('a request goes to the endpoint of its method and path', async t => {
  const { url, ended } = await serve(t)
  const rows: ReadonlyArray<readonly [title: string, method: string, path: string, answer: string]> = [
    ['as it is written', 'GET', '/plain', 'plain'],
    ['with a query', 'GET', '/plain?a=b', 'plain'],
    ['with a parameter', 'GET', '/things/a%20b', 'thing a b'],
    ['with another method', 'DELETE', '/things/7', 'deleted']
  ]
  for (const [title, method, path, answer] of rows) {
    const response = await fetch(url + path, { method })
    t.equal(await response.text(), answer, title)
    t.match(response.headers.get('x-request-id'), /\S/, title)
  }
  await until(() => ended.length === 4, 'four calls to end')
  t.same(ended.map(({ record }) => [record.endpoint, record.status, record.outcome]), [
    ['plain', 200, 'ok'], ['plain', 200, 'ok'], ['one', 200, 'ok'], ['gone', 200, 'ok']
  ])
})

t.test('a request for no endpoint is refused in the form of any other, and noted with method and path', async t => {
  const { url, ended } = await serve(t)
  const rows: ReadonlyArray<readonly [title: string, method: string, path: string, status: number, body: object, noted: string]> = [
    ['an unknown path', 'GET', '/nowhere?key=secret', 404, refusal('Not found: GET /nowhere.', 'not_found'), 'GET /nowhere'],
    ['another method', 'POST', '/things/7', 405, refusal('Method not allowed.', 'method_not_allowed'), 'POST /things/7']
  ]
  for (const [title, method, path, status, body, noted] of rows) {
    const response = await fetch(url + path, { method })
    t.equal(response.status, status, title)
    t.same(await response.json(), body, title)
    await until(() => ended.at(-1)?.record.unmatchedRequest === noted, `the end of ${noted}`)
  }
  t.equal((await fetch(`${url}/things/7`, { method: 'POST' })).headers.get('allow'), 'HEAD, GET, DELETE')
})

t.test('a WebSocket upgrade where only other methods are served is refused so that clients fall back at once', async t => {
  const { url } = await serve(t)
  const socket = await raw(t, url)
  socket.write('POST /plain HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
  socket.end()
  const [head = '', body = ''] = (await rest(socket)).split('\r\n\r\n')
  t.match(head, /^HTTP\/1\.1 426 /)
  t.same(JSON.parse(body), refusal('WebSocket is not available. Send the request with POST.', 'method_not_allowed'))
})

t.test('a request that cannot be met by any endpoint is refused before one is looked for', async t => {
  const { url } = await serve(t)
  const rows: ReadonlyArray<readonly [title: string, request: string, status: number, message: string]> = [
    ['no Host', 'GET /plain HTTP/1.1\r\n', 400, 'The request has no Host header.'],
    ['no URL', 'GET http://[ HTTP/1.1\r\nhost: x\r\n', 400, 'The URL of the request is not valid.'],
    ['an unknown expectation', 'GET /plain HTTP/1.1\r\nhost: x\r\nexpect: nonsense\r\n', 417, 'Only the expectation `100-continue` is supported.']
  ]
  for (const [title, request, status, message] of rows) {
    const socket = await raw(t, url)
    socket.write(`${request}connection: close\r\n\r\n`)
    const [head = '', body = ''] = (await rest(socket)).split('\r\n\r\n')
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), title)
    t.same(JSON.parse(body), refusal(message, 'invalid_value'), title)
  }
})

t.test('an unexpected error is 500 without its words, which stay in the record', async t => {
  const { url, ended } = await serve(t)
  const response = await fetch(`${url}/broken`)
  t.equal(response.status, 500)
  t.same(await response.json(), refusal('Headgate could not handle the request because of an internal error.', 'internal_error', 'server_error'))
  await until(() => ended.length === 1, 'the call to end')
  t.match(ended[0]?.record, { outcome: 'error', errorCode: 'internal_error', cause: new Error('private') })
})

t.test('an endpoint that throws at once gives an error reply, and its call ends', async t => {
  const { app, url, ended } = await serve(t)
  t.equal((await fetch(`${url}/throws`)).status, 404)
  await until(() => ended.length === 1, 'the call to end')
  t.match(ended[0]?.record, { outcome: 'error', errorCode: 'not_found' })
  t.equal(app.openCalls(), 0)
})

t.test('settled waits for the calls that are open, and for no later one', async t => {
  const { app, url, go } = await serve(t)
  await app.whenIdle()
  const waiting = fetch(`${url}/wait`)
  await until(() => app.openCalls() === 1, 'an open call')
  const settled = app.whenIdle()
  const stuck = fetch(`${url}/stuck`)
  await until(() => app.openCalls() === 2, 'another open call')
  go()
  await settled
  t.equal(await (await waiting).text(), 'waited')
  t.equal(app.openCalls(), 1)
  app.abortAll(new GatewayError('shutting_down'))
  const response = await stuck
  t.equal(response.status, 503)
  t.same(await response.json(), refusal('Headgate is shutting down.', 'shutting_down', 'server_error'))
})

t.test('while the process shuts down, an answer closes its connection', async t => {
  let draining = false
  const { url } = await serve(t, () => draining)
  t.equal((await fetch(`${url}/plain`)).headers.get('connection'), 'keep-alive')
  draining = true
  t.equal((await fetch(`${url}/plain`)).headers.get('connection'), 'close')
})
