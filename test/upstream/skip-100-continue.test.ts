import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { httpTransport } from '../../lib/upstream/http-transport.ts'
import type { AddressInfo } from 'node:net'

const timeouts = { connectMs: 5_000, firstByteMs: 5_000, responseMs: 5_000, idleBytesMs: 5_000, idleEventsMs: 5_000 }
const interim = 'HTTP/1.1 100 Continue\r\n\r\n'
const head = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n'

/** Returns the bodies of two requests over one connection to a server that answers with these writes. */
async function answersOf (t: Test, writes: readonly string[]): Promise<{ readonly bodies: string[], readonly connections: number }> {
  let connections = 0
  const server = createServer({ noDelay: true }, socket => {
    connections++
    socket.on('data', () => { sendOneByOne(socket, writes) })
    socket.on('error', () => socket.destroy())
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  const { port } = server.address() as AddressInfo // it listens at a port
  const transport = httpTransport({ baseUrl: `http://127.0.0.1:${port}`, connections: 1, connectMs: 5_000 })
  t.teardown(async () => {
    await transport.close()
    server.close()
  })
  const bodies: string[] = []
  for (let number = 0; number < 2; number++) {
    const { body } = await transport.send({ method: 'POST', path: '/x', headers: {}, body: '{}' }, {
      signal: new AbortController().signal, credential: {}, timeouts, streamed: false
    })
    bodies.push((await body.buffer(1000)).toString())
  }
  return { bodies, connections }
}

/** Each write is a read of its own at the other side: it goes out when the one before it was taken. */
function sendOneByOne (socket: Socket, [first, ...rest]: readonly string[]): void {
  if (first === undefined) return
  socket.write(first, () => { setImmediate(() => sendOneByOne(socket, rest)) })
}

t.test('100 Continue of a provider is skipped, and its connection is used again', async t => {
  const cases: ReadonlyArray<readonly string[]> = [
    [interim + head + 'right'],
    [interim, head + 'right'],
    [interim + interim, interim, head, 'right'],
    ['HTTP/1.1 100\r\nx: y\r\n\r\n', head + 'right']
  ]
  for (const writes of cases) {
    t.strictSame(await answersOf(t, writes), { bodies: ['right', 'right'], connections: 1 }, JSON.stringify(writes))
  }
})

t.test('bytes of a body that look like it stay', async t => {
  const length = interim.length
  t.strictSame((await answersOf(t, [`HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`, interim])).bodies, [interim, interim])
})
