import { once } from 'node:events'
import t from 'tap'
import { raw, rest } from '../support/raw.ts'
import { refusal, smallApp } from '../support/small-app.ts'
import { settings } from '../support/settings.ts'
import { eventually, until } from '../support/until.ts'
import type { Socket } from 'node:net'
import type { Call } from '../../lib/core/call.ts'
import type { Endpoint } from '../../lib/core/endpoint.ts'
import type { Reply } from '../../lib/core/reply.ts'
import type { App } from '../../lib/http/app.ts'
import type { Test } from 'tap'

t.test('an unexpected error gives a 500 without its message, which only the record has', async t => {
  const { url, ended } = await smallApp(t)
  const response = await fetch(`${url}/broken`)
  t.equal(response.status, 500)
  t.same(
    await response.json(),
    refusal(
      'Headgate could not handle the request because of an internal error.',
      'internal_error',
      'server_error'
    )
  )
  await until(() => ended.length === 1, 'the call to end')
  t.match(ended[0]?.record.end, {
    outcome: 'error',
    errorCode: 'internal_error',
    cause: new Error('private')
  })
})

t.test('an endpoint that throws synchronously gives an error reply, and its call ends', async t => {
  const { app, url, ended } = await smallApp(t)
  t.equal((await fetch(`${url}/throws`)).status, 404)
  await until(() => ended.length === 1, 'the call to end')
  t.match(ended[0]?.record.end, { outcome: 'error', errorCode: 'not_found' })
  t.equal(app.openRequests(), 0)
})

t.test('during shutdown an answer closes its connection', async t => {
  const stop = { isClosed: false }
  const { url } = await smallApp(t, { stop })
  t.equal((await fetch(`${url}/plain`)).headers.get('connection'), 'keep-alive')
  stop.isClosed = true
  t.equal((await fetch(`${url}/plain`)).headers.get('connection'), 'close')
})

/** Serves answers on one connection, with a short time in which the caller must read some of each. */
async function slowly (
  t: Test,
  body: Reply['body'],
  writeTimeoutMs = 100
): Promise<{ readonly socket: Socket, readonly ended: readonly Call[], readonly app: App }> {
  const endpoint: Endpoint = {
    name: 'slow',
    method: 'GET',
    path: '/slow',
    body: 'none',
    maxBodyBytes: 0,
    handle: async () => ({ status: 200, headers: {}, body })
  }
  const { app, url, ended } = await smallApp(t, { endpoints: [endpoint], writeTimeoutMs })
  const socket = await raw(t, url)
  socket.pause().write('GET /slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  return { socket, ended, app }
}

async function * endless (): AsyncGenerator<Buffer> {
  for (let piece = 0; piece < 1e6; piece++) yield Buffer.alloc(65_536)
}

t.test('a caller who reads nothing of a pending answer is disconnected', async t => {
  for (const [name, body] of [
    ['a stream', endless()],
    ['a complete answer', 'x'.repeat(30_000_000)]
  ] as const) {
    const { ended, app } = await slowly(t, body)
    await until(() => ended.length === 1, `the end of ${name}`)
    t.match(ended[0]?.record.end, {
      outcome: 'client_too_slow',
      errorCode: 'client_too_slow',
      status: 499
    }, name)
    t.equal(app.openRequests(), 0)
  }
})

t.test('when memory runs short, the call that has waited longest for its caller is ended', async t => {
  const get = { method: 'GET', body: 'none', maxBodyBytes: 0 } as const
  const large = 'x'.repeat(30_000_000)
  const keeping = (name: string, body: Reply['body'], bytes: number): Endpoint => ({
    ...get, name, path: `/${name}`, handle: async ({ takeMemory }) => {
      takeMemory?.(bytes)
      return { status: 200, headers: {}, body }
    }
  })
  const { url, ended, app } = await smallApp(t, {
    endpoints: [
      keeping('complete', large, 400),
      keeping('stream', endless(), 400),
      keeping('nothing', large, 0),
      keeping('more', 'x', 500)
    ],
    bounds: { ...settings().limits, bodyMemoryBytes: 1000, maxSharePerKey: 1, patienceMs: 1000 }
  })
  const sockets: Socket[] = []
  for (const name of ['nothing', 'stream', 'complete']) {
    const socket = await raw(t, url)
    socket.write(`GET /${name} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    await once(socket, 'data')
    sockets.push(socket.pause())
  }
  const refused = await fetch(`${url}/more`)
  t.equal(refused.status, 503, 'one that has waited for a moment may read on')
  t.match(await refused.json(), {
    error: { code: 'overloaded', message: 'The gateway is out of memory. Try again later.' }
  })
  await eventually(
    async () => await fetch(`${url}/more`),
    ({ status }) => status === 200,
    'room in memory'
  )
  await until(() => ended.some(({ record }) => record.end.outcome === 'client_too_slow'), 'the end of a call')
  const tooSlow = ended.filter(({ record }) => record.end.outcome === 'client_too_slow')
  t.same(
    tooSlow.map(({ record }) => [record.endpoint, record.end.status]),
    [['stream', 499]],
    'who has waited longest, of those that hold memory'
  )
  t.equal(app.openRequests(), 2)
  t.ok(
    (await rest((sockets[2] as Socket).resume())).length > 29_000_000,
    'the others are answered when they read'
  )
})

/** Reads more at a time than the system buffers hold, and pauses between reads. */
async function readSlowly (socket: Socket): Promise<{ readonly bytes: number, readonly ms: number }> {
  const startedMs = performance.now()
  let bytes = 0
  for await (const piece of socket) {
    const before = bytes
    bytes += (piece as Buffer).length
    if (Math.floor(before / 4e6) !== Math.floor(bytes / 4e6)) {
      await new Promise(resolve => {
        setTimeout(resolve, 60)
      })
    }
  }
  return { bytes, ms: performance.now() - startedMs }
}

t.test('when memory runs short, a slow reader is not treated as stalled', async t => {
  const large = 'x'.repeat(60_000_000)
  const keeping = (name: string, body: Reply['body'], bytes: number): Endpoint => ({
    method: 'GET', body: 'none', maxBodyBytes: 0, name, path: `/${name}`, handle: async ({ takeMemory }) => {
      takeMemory?.(bytes)
      return { status: 200, headers: {}, body }
    }
  })
  const { url, ended } = await smallApp(t, {
    endpoints: [
      keeping('complete', large, 400),
      keeping(
        'stream',
        (async function* () {
          yield large
        })(),
        400
      ),
      keeping('more', 'x', 500)
    ],
    bounds: { ...settings().limits, bodyMemoryBytes: 800, maxSharePerKey: 1, patienceMs: 400 }
  })
  const readings = await Promise.all(['complete', 'stream'].map(async name => {
    const socket = await raw(t, url)
    socket.write(`GET /${name} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    const reading = readSlowly(socket)
    return { socket, reading }
  }))
  await until(() => readings.every(({ socket }) => socket.bytesRead > 0), 'both answers to begin')
  const open = new Set(readings)
  const all = Promise.all(readings.map(async one => await one.reading.finally(() => open.delete(one))))
  const statuses = new Set<number>()
  while (open.size > 0) {
    const { status } = await fetch(`${url}/more`)
    if (ended.every(({ record }) => record.endpoint === 'more')) statuses.add(status)
    await new Promise(resolve => { setTimeout(resolve, 20) })
  }
  t.same([...statuses], [503], 'nobody makes room')
  for (const { bytes, ms } of await all) {
    t.ok(bytes > 60_000_000)
    t.ok(ms > 800, `${ms} ms: twice as long as a caller may take nothing`)
  }
  t.same(ended.filter(({ record }) => record.end.outcome !== 'ok' && record.endpoint !== 'more'), [])
})

t.test('slow readers and callers of slow answers keep their connection', async t => {
  const slow = await slowly(t, 'x'.repeat(60_000_000), 400)
  const { bytes, ms } = await readSlowly(slow.socket)
  t.ok(bytes > 60_000_000)
  t.ok(ms > 800, 'twice the timeout')
  const late = await slowly(t, (async function * () {
    yield 'first '
    await new Promise(resolve => { setTimeout(resolve, 1200) }) // three times the timeout
    yield 'last'
  })(), 400)
  t.match(await rest(late.socket), /first [^]*last/)
  await until(() => late.ended.length === 1 && slow.ended.length === 1, 'both calls to end')
  t.same([...slow.ended, ...late.ended].map(({ record }) => record.end.outcome), ['ok', 'ok'])
})
