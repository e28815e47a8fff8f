/**
 * Holds what `lib/http/node-internals.ts` relies on in Node and Koa. When one of these fails after an
 * upgrade, the title says which reach is broken and the comment what to do without it.
 */

import { once } from 'node:events'
import t from 'tap'
import {
  KoaWithoutResponseHandling, closeWaitingResponse, endInOneWrite, endWithChunk, hasBegunAnswer, releaseHead, stopAccepting, waitsForConnection, writeChunk, writeHead
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

/** Returns the heads that `writeHead` of this project and of `node:http` give to the same request, with their bodies. */
async function bothHeads (t: Test, request: string, status: number, headers: Record<string, string>, body?: string): Promise<string[]> {
  const given: string[] = []
  for (const isOwn of [true, false]) {
    const { url } = await httpServer(t, (_request, response) => {
      const sizeBytes = body === undefined ? undefined : Buffer.byteLength(body)
      if (isOwn) writeHead(response, status, headers, sizeBytes)
      else response.writeHead(status, sizeBytes === undefined ? headers : { ...headers, 'content-length': sizeBytes })
      t.equal(response.statusCode, status)
      response.end(body ?? 'text')
    })
    const socket = await raw(t, url)
    socket.write(request)
    const text = await rest(socket)
    const [head = '', ...others] = text.split('\r\n\r\n')
    const [first, ...lines] = head.replace(/date: .*/i, 'date: now').split('\r\n')
    given.push([first, ...lines.toSorted(), ...others].join('\n'))
  }
  return given
}

// Otherwise: response.writeHead(status, headers), which is right and slower.
t.test('writeHead gives the head that Node gives', async t => {
  const own = { 'x-request-id': 'one', 'content-type': 'text/plain; charset=utf-8', 'x-name': 'caf\u00e9 \t~' }
  const close = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
  const rows: Array<[why: string, request: string, status: number, headers: Record<string, string>, body?: string]> = [
    ['a length', close, 200, own, 'body'],
    ['no length', close, 200, own],
    ['an empty body', close, 500, own, ''],
    ['a status without a name', close, 599, own, 'body'],
    ['an older caller', 'GET / HTTP/1.0\r\n\r\n', 200, own, 'body'],
    ['no body', close, 204, own],
    ['only the head', 'HEAD / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n', 200, own, 'body'],
    ['a header of the connection', get, 200, { ...own, connection: 'close' }, 'body'],
    ['a date', close, 200, { ...own, date: 'then' }, 'body'],
    ['its own length', close, 200, { ...own, 'Content-Length': '4' }]
  ]
  for (const [why, ...row] of rows) {
    const [ours, nodes] = await bothHeads(t, ...row)
    t.equal(ours, nodes, why)
  }
})

t.test('writeHead keeps what was set before, and a connection that goes on', async t => {
  const { url } = await httpServer(t, (_request, response) => {
    response.setHeader('access-control-allow-origin', '*')
    writeHead(response, 200, { 'x-name': 'value' }, 4)
    response.end('text')
  })
  const [first, second] = [await fetch(url), await fetch(url)]
  for (const { headers } of [first, second]) {
    t.equal(headers.get('access-control-allow-origin'), '*')
    t.equal(headers.get('x-name'), 'value')
    t.equal(headers.get('connection'), 'keep-alive')
  }
  await Promise.all([first.text(), second.text()])
})

t.test('writeHead goes through a function that others have put in place of it', async t => {
  const { response, answer } = await openRequest(t)
  const seen: unknown[] = []
  const original = response.writeHead.bind(response)
  t.intercept(response, 'writeHead', { value: (...args: Parameters<typeof original>) => { seen.push(args[0]); return original(...args) } })
  writeHead(response, 201, { 'x-name': 'value' }, 4)
  response.end('text')
  t.equal((await answer).status, 201)
  t.same(seen, [201])
})

t.test('writeHead refuses a status that none is, and values that are no text', async t => {
  const { response, answer } = await openRequest(t)
  for (const status of [1000, 99, 0.5]) t.throws(() => writeHead(response, status, {}, 4), RangeError, String(status))
  t.throws(() => writeHead(response, 200, { 'x-name': undefined as unknown as string }, 4), TypeError) // as JavaScript may have it
  writeHead(response, 200, { 'x-name': 'value' }, 4)
  response.end('text')
  t.equal((await answer).status, 200)
})

t.test('writeHead refuses what no header may have, before anything is sent', async t => {
  const { response, answer } = await openRequest(t)
  for (const headers of [{ 'x-name': 'a\r\nx: b' }, { 'x name': 'a' }, { 'x-name': '\u20ac' }]) t.throws(() => writeHead(response, 200, headers, 4), TypeError)
  t.notOk(response.headersSent)
  writeHead(response, 200, { 'x-name': 'value' }, 4)
  response.end('text')
  t.equal(await (await answer).text(), 'text')
})

// Otherwise: response.write(text), which is right and slower.
t.test('writeChunk frames a text as one chunk, in one write of which Node adds nothing', async t => {
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

t.test('writeChunk keeps text and bytes in order, however much is waiting', async t => {
  const { response, answer } = await openRequest(t)
  response.writeHead(200)
  const pieces = Array.from({ length: 40 }, (_, number) => [`<${number} ä>`, Buffer.alloc(20_000, String(number % 10)), new Uint8Array()]).flat()
  for (const piece of pieces) writeChunk(response, piece)
  response.end()
  t.equal(await (await answer).text(), pieces.map(piece => typeof piece === 'string' ? piece : Buffer.from(piece).toString()).join(''))
})

// Otherwise: nothing; a stream holds 1.3 KB more.
t.test('a response goes on without the text of its head', async t => {
  const { response, answer } = await openRequest(t)
  response.writeHead(200, { 'x-name': 'value' })
  writeChunk(response, 'first ')
  t.match(Reflect.get(response, '_header'), /x-name/)
  releaseHead(response)
  t.ok(response.headersSent)
  t.throws(() => response.writeHead(500), { code: 'ERR_HTTP_HEADERS_SENT' })
  writeChunk(response, 'second')
  endWithChunk(response, ' last')
  const { headers } = await answer
  t.equal(headers.get('x-name'), 'value')
  t.equal(await (await answer).text(), 'first second last')
})

t.test('writeChunk leaves a response alone that has no chunks', async t => {
  const { url } = await httpServer(t, (_request, response) => {
    writeChunk(response, 'ä')
    response.end()
  })
  const socket = await raw(t, url)
  socket.write('GET / HTTP/1.0\r\n\r\n')
  t.match(await rest(socket), /\r\n\r\nä$/)
})

// Otherwise: response.end(body).
t.test('endInOneWrite sends head and body as one write, and the end with no other', async t => {
  const { response, answer } = await openRequest(t)
  const writes = recordWrites(t, response)
  response.writeHead(200, { 'content-length': '4' })
  endInOneWrite(response, 'body', 4)
  t.equal(await (await answer).text(), 'body')
  t.match(writes, [/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nbody$/])
  t.same(writes.length, 1)
})

// Otherwise: writeChunk(response, piece) and response.end(), which are two packets.
t.test('endWithChunk sends the last piece and the end of the chunks in one write', async t => {
  const { response, answer } = await openRequest(t)
  response.writeHead(200)
  response.flushHeaders()
  const writes = recordWrites(t, response)
  writeChunk(response, 'a')
  endWithChunk(response, 'größe')
  t.equal(await (await answer).text(), 'agröße')
  t.same(writes, ['1\r\na\r\n', '7\r\ngröße\r\n0\r\n\r\n'])
  for (const piece of ['', Buffer.from('größe')]) {
    const { response, answer } = await openRequest(t)
    response.writeHead(200)
    endWithChunk(response, piece)
    t.equal(await (await answer).text(), String(piece), 'nothing, and bytes')
  }
})

t.test('endWithChunk puts the last pieces into one chunk, whatever their kinds and sizes', async t => {
  const [long, bytes] = ['ä'.repeat(20_000), Buffer.from('größe')]
  for (const pieces of [['a', 'ö'], ['', 'a'], [bytes, 'b'], ['ä', bytes], [long, 'b'], [Buffer.from(long), 'ä'], ['a'.repeat(20_000), bytes, Buffer.alloc(0)]]) {
    const { url } = await httpServer(t, (_request, response) => {
      response.writeHead(200)
      endWithChunk(response, ...pieces)
    })
    const socket = await raw(t, url)
    socket.write(get.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'))
    const answer = await rest(socket)
    const body = pieces.map(String).join('')
    t.equal(answer.slice(answer.indexOf('\r\n\r\n') + 4), `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`)
  }
})

// Otherwise: Node emits `close` on it, as it does from Node.js 24 on, or has a documented event for it.
t.test('a response that waits behind another has no socket, and hears of the end of its connection once', async t => {
  const responses: ServerResponse[] = []
  const { url } = await httpServer(t, (_request, response) => { responses.push(response) })
  const socket = await raw(t, url)
  socket.write(get + get)
  await until(() => responses.length === 2, 'two requests')
  const [first, second] = responses
  t.same([first, second].map(response => response && waitsForConnection(response)), [false, true])
  const closed: string[] = []
  first?.on('close', () => closed.push('first'))
  second?.on('close', () => closed.push('second'))
  const connection = first?.socket
  socket.destroy()
  await until(() => connection?.closed === true && closed.length > 0, 'the connection to close')
  const closedByNode = Number(process.versions.node.split('.', 1)[0]) >= 24 ? ['first', 'second'] : ['first']
  t.same(closed, closedByNode, 'when this fails, closeWaitingResponse is needed no longer, or again')
  if (second !== undefined) closeWaitingResponse(second)
  t.same(closed, ['first', 'second'])
  t.ok(second?.destroyed)
})

// Otherwise: server.close(), if it leaves connections with unsent bytes alone.
t.test('stopAccepting refuses new connections and leaves the open ones alone', async t => {
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

// Otherwise: keep a WeakSet of sockets with an answer that has begun.
t.test('hasBegunAnswer sees the answer of a connection once its head is sent', async t => {
  const { request, response, answer } = await openRequest(t)
  t.notOk(hasBegunAnswer(request.socket))
  response.writeHead(200)
  t.ok(hasBegunAnswer(request.socket))
  response.end()
  await (await answer).text()
})

// Otherwise: a plain Koa, which is right and slower.
t.test('KoaWithoutResponseHandling runs its middleware through handleRequest, and answers nothing itself', async t => {
  const app = new KoaWithoutResponseHandling()
  let runs = 0
  let finish: (response: ServerResponse) => void = () => undefined
  const ran = new Promise<ServerResponse>(resolve => { finish = resolve })
  app.use(async context => {
    runs++
    finish(context.res)
  })
  const handle = app.callback()
  const { url } = await httpServer(t, (request, response) => { void handle(request, response) })
  const answer = fetch(url)
  const response = await ran
  await new Promise(resolve => { setImmediate(resolve) })
  t.equal(runs, 1)
  t.notOk(response.headersSent, 'Koa would have sent 404')
  const bare = await openRequest(t)
  t.equal(response.listenerCount('finish'), bare.response.listenerCount('finish'), 'Koa would listen for the end')
  response.end('ours')
  t.equal(await (await answer).text(), 'ours')
})

t.test('an error that middleware throws is sent by Koa', async t => {
  const app = new KoaWithoutResponseHandling()
  app.silent = true
  app.use(async () => await Promise.reject(new Error('broken')))
  const handle = app.callback()
  const { url } = await httpServer(t, (request, response) => { void handle(request, response) })
  t.equal((await fetch(url)).status, 500)
})
