import t, { type Test } from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { tunnelsThrough } from '../../lib/mcp/tunnels.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { closedUrl } from '../support/closed-port.ts'
import { httpServer } from '../support/http-server.ts'
import { until } from '../support/until.ts'

/**
 * A server at an address that no tunnel reaches, and a proxy that leads there whatever address it is asked
 * for.
 */
async function setUp (t: Test): Promise<Awaited<ReturnType<typeof startConnectProxy>>> {
  const { url } = await httpServer(t, (_request, response) => { response.end('ok') })
  return await startConnectProxy(t, undefined, new URL(url).host)
}

t.test('a tunnel to an address is opened with the credentials of the proxy', async t => {
  const proxy = await setUp(t)
  const credentials = new Secret('me:p@ss')
  const open = tunnelsThrough({ url: proxy.url, credentials }, { connectMs: 5000 })
  const sockets = await Promise.all([
    open('93.184.215.14', 443, 5000),
    open('2606:2800:21f:cb07::1', 80, 5000)
  ])
  t.same(proxy.requests.map(({ target }) => target).toSorted(), [
    '93.184.215.14:443',
    '[2606:2800:21f:cb07::1]:80'
  ])
  t.equal(proxy.requests[0]?.authorization, `Basic ${Buffer.from('me:p@ss').toString('base64')}`)
  t.equal(proxy.open(), 2)
  for (const socket of sockets) socket.destroy()
})

t.test('a proxy that refuses, is down or never answers is an error without its credentials', async t => {
  const refusing = await startConnectProxy(t, 'HTTP/1.1 403 Forbidden\r\n\r\n')
  const mute = await startConnectProxy(t, 'nothing')
  for (const [url, timeoutMs, message] of [
    [refusing.url, 10_000, /the proxy answered 403/],
    [closedUrl, 10_000, /ECONNREFUSED/],
    [mute.url, 100, /no tunnel through the proxy within 100 ms/]
  ] as const) {
    const open = tunnelsThrough({ url, credentials: new Secret('me:very-secret') }, { connectMs: 5000 })
    const failure = await open('93.184.215.14', 443, timeoutMs).catch((error: unknown) => String(error))
    t.match(failure, message)
    t.notMatch(failure, /secret|Basic/)
  }
})

t.test('a tunnel that times out closes its connection to the proxy', async t => {
  const mute = await startConnectProxy(t, 'nothing')
  const open = tunnelsThrough({ url: mute.url }, { connectMs: 60_000 })
  await t.rejects(open('93.184.215.14', 443, 1000), { code: 'ETIMEDOUT' })
  t.equal(mute.requests.length, 1)
  await until(() => mute.connections() === 0, 'the proxy to see it closed')
})

t.test('the signal closes connections to the proxy that are not tunnels yet', async t => {
  const mute = await startConnectProxy(t, 'nothing')
  const ending = new AbortController()
  const open = tunnelsThrough({ url: mute.url }, { connectMs: 60_000, signal: ending.signal })
  const opening = t.rejects(open('93.184.215.14', 443, 60_000), { code: 'UND_ERR_DESTROYED' })
  await until(() => mute.requests.length === 1, 'the proxy to be asked')
  ending.abort()
  await opening
  await until(() => mute.connections() === 0, 'the proxy to see it closed')
  await t.rejects(open('93.184.215.14', 443, 60_000), { code: 'UND_ERR_DESTROYED' }, 'and opens no more')
})
