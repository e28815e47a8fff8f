/**
 * Tests what `lib/http/node-internals.ts` relies on in Node.js. When one of these fails after an upgrade, its
 * title says which assumption is broken and its comment what to do instead.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import {
  closeWaitingResponse,
  isPipelined,
  stopAccepting,
  writeChunk
} from '../../lib/http/node-internals.ts'
import { httpServer } from '../support/http-server.ts'
import { openRequest } from '../support/open-request.ts'
import { raw, rest } from '../support/raw.ts'
import { until } from '../support/until.ts'
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'

/** Records what is written to the socket of a response. */
function recordWrites (t: Test, { socket }: ServerResponse): string[] {
  if (socket === null) throw new Error('the response has no socket')
  const writes: string[] = []
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean // one of its overloads
  t.intercept(socket, 'write', {
    value: (...args: unknown[]): boolean => {
      writes.push(String(args[0]))
      return write(...args)
    }
  })
  return writes
}

const get = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'

// If it fails: use response.write(text), which is correct and slower.
t.test('writeChunk sends text as one chunk in one write, and Node adds nothing', async t => {
  const { response, answer } = await openRequest(t)
  response.writeHead(200)
  response.flushHeaders()
  const writes = recordWrites(t, response)
  t.ok(writeChunk(response, 'größe'), 'there is room')
  t.same(writes, ['7\r\ngröße\r\n'])
  t.ok(response.chunkedEncoding, 'what follows is framed by Node again')
  writeChunk(response, '')
  response.end('!')
  t.equal(await (await answer).text(), 'größe!')
})

t.test('writeChunk keeps the order of text and bytes, however much is buffered', async t => {
  const { response, answer } = await openRequest(t)
  response.writeHead(200)
  const pieces = Array.from({ length: 40 }, (_, number) => [
    `<${number} ä>`,
    Buffer.alloc(20_000, String(number % 10)),
    new Uint8Array()
  ]).flat()
  for (const piece of pieces) writeChunk(response, piece)
  response.end()
  t.equal(
    await (await answer).text(),
    pieces.map(piece => (typeof piece === 'string' ? piece : Buffer.from(piece).toString())).join('')
  )
})

t.test('writeChunk does nothing to a response that is not chunked', async t => {
  const { url } = await httpServer(t, (_request, response) => {
    writeChunk(response, 'ä')
    response.end()
  })
  const socket = await raw(t, url)
  socket.write('GET / HTTP/1.0\r\n\r\n')
  t.match(await rest(socket), /\r\n\r\nä$/)
})

// If it fails: Node.js may emit `close` on the response, as from version 24 on, or document an event for it.
t.test(
  'a response queued behind another has no socket and learns once that its connection closed',
  async t => {
    const responses: ServerResponse[] = []
    const { url } = await httpServer(t, (_request, response) => {
      responses.push(response)
    })
    const socket = await raw(t, url)
    socket.write(get + get)
    await until(() => responses.length === 2, 'two requests')
    const [first, second] = responses
    t.same(
      [first, second].map(response => response && isPipelined(response)),
      [false, true]
    )
    const closed: string[] = []
    first?.on('close', () => closed.push('first'))
    second?.on('close', () => closed.push('second'))
    const connection = first?.socket
    socket.destroy()
    await until(() => connection?.closed === true && closed.length > 0, 'the connection to close')
    const closedByNode =
      Number(process.versions.node.split('.', 1)[0]) >= 24 ? ['first', 'second'] : ['first']
    t.same(closed, closedByNode, 'when this fails, closeWaitingResponse is needed no longer, or again')
    if (second !== undefined) closeWaitingResponse(second)
    t.same(closed, ['first', 'second'])
    t.ok(second?.destroyed)
  }
)

// If it fails: use server.close() if it keeps connections with unsent bytes open.
t.test('stopAccepting refuses new connections and keeps open ones', async t => {
  const { server, url } = await httpServer(t, (_request, response) => response.end('ok'))
  const open = await raw(t, url)
  open.write(get)
  await once(open, 'data')
  const closed = stopAccepting(server)
  t.notOk(server.listening)
  await t.rejects(fetch(url))
  open.write(get.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'))
  t.match(await rest(open), /^HTTP\/1\.1 200 OK/, 'an idle connection goes on')
  await closed
})

// If it fails: drop it; the calls of a worker then end with its primary.
t.test('outlivePrimary keeps a worker alive after its primary is killed', async t => {
  const program = `
    import cluster from 'node:cluster'
    import { writeSync } from 'node:fs'
    import { outlivePrimary } from ${JSON.stringify(new URL('../../lib/http/node-internals.js', import.meta.url).href)}
    if (cluster.isPrimary) cluster.fork().on('message', () => process.kill(process.pid, 'SIGKILL'))
    else {
      outlivePrimary(cluster.worker)
      process.on('disconnect', () => setImmediate(() => { writeSync(1, 'alive'); process.exit() }))
      process.send('ready')
    }
  `
  const file = join(t.testdir({ 'program.mjs': program }), 'program.mjs')
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.equal((await child.stdout.toArray()).join(''), 'alive')
})
