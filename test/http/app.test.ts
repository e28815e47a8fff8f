import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { refusal, smallApp } from '../support/small-app.ts'
import { until } from '../support/until.ts'
import { raw, rest } from '../support/raw.ts'
import { settings } from '../support/settings.ts'
import type { Endpoint } from '../../lib/core/endpoint.ts'

t.test('whenIdle() waits for the calls open at that moment, not for later ones', async t => {
  const { app, url, go } = await smallApp(t)
  await app.whenIdle()
  const waiting = fetch(`${url}/wait`)
  await until(() => app.openRequests() === 1, 'an open call')
  const settled = app.whenIdle()
  const stuck = fetch(`${url}/stuck`)
  await until(() => app.openRequests() === 2, 'another open call')
  go()
  await settled
  t.equal(await (await waiting).text(), 'waited')
  t.equal(app.openRequests(), 1)
  app.abortAll(new GatewayError('shutting_down'))
  const response = await stuck
  t.equal(response.status, 503)
  t.same(await response.json(), refusal('Headgate is shutting down.', 'shutting_down', 'server_error'))
})

t.test('a request is routed by method and path', async t => {
  const { url, ended } = await smallApp(t)
  const rows: ReadonlyArray<readonly [title: string, method: string, path: string, answer: string]> = [
    ['as it is written', 'GET', '/plain', 'plain'],
    ['with a query', 'GET', '/plain?a=b', 'plain'],
    ['with a parameter', 'GET', '/things/a%20b', 'thing a b'],
    ['with another method', 'DELETE', '/things/7', 'deleted'],
    ['with a slash at the end', 'GET', '/plain/', 'plain'],
    ['in capitals', 'GET', '/PLAIN', 'plain'],
    ['for its head alone', 'HEAD', '/plain', '']
  ]
  for (const [title, method, path, answer] of rows) {
    const response = await fetch(url + path, { method })
    t.equal(await response.text(), answer, title)
    t.match(response.headers.get('x-request-id'), /\S/, title)
  }
  await until(() => ended.length === rows.length, 'the calls to end')
  t.same(
    ended.map(({ record }) => [record.endpoint, record.end.status, record.end.outcome]),
    [
      ['plain', 200, 'ok'],
      ['plain', 200, 'ok'],
      ['one', 200, 'ok'],
      ['gone', 200, 'ok'],
      ['plain', 200, 'ok'],
      ['plain', 200, 'ok'],
      ['plain', 200, 'ok']
    ]
  )
})

t.test('a new configuration may have other endpoints', async t => {
  const get = { method: 'GET', body: 'none', maxBodyBytes: 0 } as const
  const named = (name: string, path: string): Endpoint => ({
    ...get, name, path, handle: async () => ({ status: 200, headers: {}, body: name })
  })
  const { app, url } = await smallApp(t, { endpoints: [named('one', '/one'), named('thing', '/things/:id')] })
  const answers = async (): Promise<unknown> =>
    await Promise.all(['/one', '/things/1', '/other/1'].map(async path => {
      const response = await fetch(url + path)
      return response.status === 200 ? await response.text() : response.status
    }))
  t.same(await answers(), ['one', 'thing', 404])
  app.apply({
    endpoints: [named('other', '/other/:id'), named('one', '/one')], bounds: settings().limits
  })
  t.same(await answers(), ['one', 404, 'other'])
})

t.test(
  'a request for an unknown endpoint is refused like any other and logged with method and path',
  async t => {
    const { url, ended } = await smallApp(t)
    const rows: ReadonlyArray<
      readonly [title: string, method: string, path: string, status: number, body: object, noted: string]
    > = [
      [
        'an unknown path',
        'GET',
        '/nowhere?key=secret',
        404,
        refusal('Not found: GET /nowhere.', 'not_found'),
        'GET /nowhere'
      ],
      [
        'another method',
        'POST',
        '/things/7',
        405,
        refusal('This method is not available at this path. Available: HEAD, GET, DELETE.', 'method_not_allowed'),
        'POST /things/7'
      ],
      [
        'another method of a path without parameters',
        'POST',
        '/plain',
        405,
        refusal('This method is not available at this path. Available: GET, HEAD.', 'method_not_allowed'),
        'POST /plain'
      ]
    ]
    for (const [title, method, path, status, body, noted] of rows) {
      const response = await fetch(url + path, { method })
      t.equal(response.status, status, title)
      t.same(await response.json(), body, title)
      await until(() => ended.at(-1)?.record.request.requestLine === noted, `the end of ${noted}`)
    }
    t.equal((await fetch(`${url}/things/7`, { method: 'POST' })).headers.get('allow'), 'HEAD, GET, DELETE')
    t.equal((await fetch(`${url}/plain`, { method: 'POST' })).headers.get('allow'), 'GET, HEAD')
  }
)

t.test(
  'a WebSocket upgrade of a path without GET is refused at once so that clients fall back',
  async t => {
    const { url } = await smallApp(t)
    const socket = await raw(t, url)
    socket.write('POST /plain HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
    socket.end()
    const [head = '', body = ''] = (await rest(socket)).split('\r\n\r\n')
    t.match(head, /^HTTP\/1\.1 426 /)
    t.same(
      JSON.parse(body),
      refusal('WebSocket is not available. Send the request with POST.', 'method_not_allowed')
    )
  }
)
