import { createServer } from 'node:http'
import t from 'tap'
import { isEverywhere, listen, urlOf } from '../../lib/http/listen.ts'

t.test('port 0 takes a free port and reports it', async t => {
  const server = createServer((_request, response) => response.end('here'))
  t.teardown(() => { server.close().closeAllConnections() })
  const address = await listen(server, { host: '127.0.0.1', port: 0 })
  t.not(address.port, 0)
  t.equal(await (await fetch(urlOf(address))).text(), 'here')
})

t.test('a port in use is an error', async t => {
  const first = createServer()
  t.teardown(() => first.close())
  const address = await listen(first, { host: '127.0.0.1', port: 0 })
  await t.rejects(listen(createServer(), address), { code: 'EADDRINUSE' })
})

t.test('the reported URL can be connected to', async t => {
  const rows: ReadonlyArray<readonly [title: string, host: string, url: string, everywhere: boolean]> = [
    ['loopback', '127.0.0.1', 'http://127.0.0.1:80', false],
    ['a name', 'gateway.internal', 'http://gateway.internal:80', false],
    ['all of IPv4', '0.0.0.0', 'http://localhost:80', true],
    ['all of IPv6', '::', 'http://localhost:80', true],
    ['loopback of IPv6', '::1', 'http://[::1]:80', false]
  ]
  for (const [title, host, url, everywhere] of rows) {
    t.equal(urlOf({ host, port: 80 }), url, title)
    t.equal(isEverywhere({ host, port: 80 }), everywhere, title)
  }
})
