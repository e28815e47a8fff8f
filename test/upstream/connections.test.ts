import t from 'tap'
import { connector } from '../../lib/upstream/connector.ts'
import { Connections } from '../../lib/upstream/connections.ts'
import { printHeaders } from '../../lib/upstream/request-headers.ts'
import { httpServer } from '../support/http-server.ts'
import { until } from '../support/until.ts'
import type { Connection } from '../../lib/upstream/connection.ts'

const connectionsTo = (url: string): Connections => new Connections(connector(new URL(url), 2000))

/** Sends a request, and resolves when its answer is complete or it failed. */
async function use (connection: Connection): Promise<void> {
  await new Promise<void>(resolve => {
    connection.send({ method: 'GET', path: '/', headers: printHeaders({ host: 'x' }), body: undefined }, {
      onHead: () => undefined,
      allocate: sizeBytes => Buffer.alloc(sizeBytes),
      onBytes: () => undefined,
      onRead: () => undefined,
      onUnsent: () => resolve(),
      onEnd: () => resolve(),
      onError: () => resolve()
    })
  })
}

t.test('a connection that is free is used again, the last one first', async t => {
  const { url, server } = await httpServer(t, (_request, response) => { response.end('ok') })
  let sockets = 0
  server.on('connection', () => { sockets++ })
  const connections = connectionsTo(url)
  const [first, second] = [connections.acquire(), connections.acquire()]
  t.not(first, second, 'a connection has one request at a time')
  t.equal(connections.open, 2)
  await Promise.all([use(first), use(second)])
  connections.release(first)
  connections.release(second)
  t.equal(connections.acquire(), second)
  t.equal(connections.acquire(), first)
  await Promise.all([use(first), use(second)])
  t.equal(sockets, 2)
  connections.release(first)
  connections.release(second)
  connections.close()
  t.equal(connections.open, 0)
})

t.test('a connection that the provider closed is forgotten, wherever it stands in the list', async t => {
  const { url, server } = await httpServer(t, (_request, response) => { response.end('ok') })
  const connections = connectionsTo(url)
  const three = [connections.acquire(), connections.acquire(), connections.acquire()]
  await Promise.all(three.map(use))
  for (const connection of three) connections.release(connection)
  server.closeIdleConnections()
  await until(() => connections.open === 0, 'all connections to be forgotten')
  const fresh = connections.acquire()
  t.notOk(three.includes(fresh))
  await use(fresh)
  connections.release(fresh)
  t.equal(connections.open, 1)
  connections.close()
})

t.test('a connection is not used in the last moments for which the provider keeps it', async t => {
  const { url, server } = await httpServer(t, (_request, response) => { response.end('ok') })
  server.keepAliveTimeout = 2000 // Node says so in a header
  const connections = connectionsTo(url)
  const brief = connections.acquire()
  await use(brief)
  connections.release(brief)
  t.equal(connections.open, 0)
})

t.test('one that never came about is not kept', async t => {
  const connections = connectionsTo('http://127.0.0.1:9')
  const connection = connections.acquire()
  await use(connection)
  connections.release(connection)
  t.equal(connections.open, 0)
})
