import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import { Clients } from '../../lib/client/clients.ts'
import { createDirectClient } from '../../lib/client/create-client.ts'
import { httpServer } from '../support/http-server.ts'
import { settles, until } from '../support/until.ts'
import type { Connection } from '../../lib/client/exchange.ts'

const clientsOf = (url: string, timeoutMs = 2000): Clients =>
  new Clients(new URL(url).origin, createDirectClient(new URL(url), { timeoutMs }))

/** Sends a request, and resolves when its answer is complete, or with the error. */
async function use (connection: Connection): Promise<Error | undefined> {
  return await new Promise(resolve => {
    connection.send({ method: 'GET', path: '/', headers: {}, body: null }, {
      onRequestStart: () => undefined,
      onResponseEnd: () => {
        connection.release()
        resolve(undefined)
      },
      onResponseError: (_controller, error) => {
        connection.cancel(undefined)
        resolve(error)
      }
    })
  })
}

t.test('a free connection is reused, the most recent first', async t => {
  const { url, server } = await httpServer(t, (_request, response) => { response.end('ok') })
  let sockets = 0
  server.on('connection', () => { sockets++ })
  const clients = clientsOf(url)
  const [first, second] = [clients.acquire(), clients.acquire()]
  t.not(first, second, 'a connection has one request at a time')
  t.equal(clients.open, 2)
  t.equal(first.wasIdle, false)
  await use(first)
  await use(second)
  t.equal(clients.acquire(), second)
  t.equal(clients.acquire(), first)
  t.equal(first.wasIdle, true)
  await Promise.all([use(first), use(second)])
  t.equal(sockets, 2)
  clients.close()
  t.equal(clients.open, 0)
})

t.test('a connection closed by the provider is removed, wherever it is in the list', async t => {
  const { url, server } = await httpServer(t, (_request, response) => { response.end('ok') })
  const clients = clientsOf(url)
  const three = [clients.acquire(), clients.acquire(), clients.acquire()]
  await Promise.all(three.map(use))
  t.equal(clients.open, 3)
  server.closeIdleConnections()
  await until(() => clients.open === 0, 'all connections to be forgotten')
  const fresh = clients.acquire()
  t.notOk(three.includes(fresh))
  await use(fresh)
  t.equal(clients.open, 1)
  clients.close()
})

t.test('a connection is not reused shortly before its keep-alive time ends', async t => {
  const { url, server } = await httpServer(t, (_request, response) => { response.end('ok') })
  server.keepAliveTimeout = 2000 // the server announces its keep-alive time in a header
  const clients = clientsOf(url)
  await use(clients.acquire())
  await until(() => clients.open === 0, 'the connection to be closed')
})

t.test('a connection that was never established is not kept', async t => {
  const clients = clientsOf('http://127.0.0.1:9')
  t.match(await use(clients.acquire()), { code: 'ECONNREFUSED' })
  t.equal(clients.open, 0)
})

t.test('an abort while connecting closes the connection at once', async t => {
  const open = new Set<Socket>()
  let hellos = 0
  const silent = createServer(socket => {
    open.add(socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket)))
    socket.once('data', () => hellos++).resume()
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => {
    silent.close()
    for (const socket of open) socket.destroy()
  })
  // the server never answers the ClientHello
  const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}` // a port, not a socket path
  const clients = clientsOf(url, 60_000)
  const connection = clients.acquire()
  const failed = new Promise(resolve => {
    connection.send({ method: 'GET', path: '/', headers: {}, body: null }, {
      onRequestStart: () => t.fail('it is not sent'),
      onResponseError: (_controller, error) => resolve(error)
    })
  })
  await until(() => hellos === 1, 'the connection')
  connection.cancel(undefined)
  t.equal(clients.open, 0)
  t.ok(await settles(failed, 'the request to fail') instanceof Error)
  await until(() => open.size === 0, 'it to be closed')
})
