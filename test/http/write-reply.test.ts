import { createServer } from 'node:http'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { writeReply } from '../../lib/http/write-reply.ts'
import { eventStream } from '../../lib/replies/answer-reply.ts'
import { sseDecoder } from '../../lib/wire/sse-decoder.ts'
import { receivedCall } from '../support/stages.ts'
import { until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { AddressInfo } from 'node:net'
import type { Reply } from '../../lib/core/reply.ts'
import type { Test } from 'tap'

/** Sends the reply to a new caller. */
async function responseTo (t: Test, reply: Reply): Promise<Response> {
  const { port } = await serving(t, reply)
  return await fetch(`http://127.0.0.1:${port}`)
}

/** A server that answers every request with this reply. @param onEnd called with the error of a cut reply */
async function serving (
  t: Test, reply: Reply, onEnd: (error?: unknown) => void = () => undefined
): Promise<AddressInfo> {
  const call = receivedCall({})
  const server = createServer((_request, response) => {
    writeReply(reply, { response, call }).then(() => onEnd(), onEnd) // the caller sees the cut
  })
  server.listen(0, '127.0.0.1')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  await once(server, 'listening')
  return server.address() as AddressInfo // listening on TCP
}

async function * yields (...pieces: ReadonlyArray<string | Uint8Array>): AsyncGenerator<string | Uint8Array> {
  yield * pieces
}

/** Returns the HTTP chunks of an answer, without the last. */
async function chunksOf (t: Test, body: AsyncIterable<string | Uint8Array>): Promise<string[]> {
  const { port } = await serving(t, { status: 200, headers: {}, body })
  return await chunksAt(port)
}

/** @param onText is called with all the text received so far */
async function chunksAt (port: number, onText: (text: string) => void = () => undefined): Promise<string[]> {
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n')
  let answer = ''
  for await (const bytes of socket.setEncoding('latin1')) {
    answer += String(bytes)
    onText(answer)
  }
  const chunks: string[] = []
  for (let at = answer.indexOf('\r\n\r\n') + 4; at < answer.length;) {
    const start = answer.indexOf('\r\n', at) + 2
    const size = parseInt(answer.slice(at, start), 16)
    if (size === 0) break
    chunks.push(Buffer.from(answer.slice(start, start + size), 'latin1').toString())
    at = start + size + 2
  }
  return chunks
}

t.test('a quiet stream sends a keep-alive comment before the next event', async t => {
  let speak = (): void => undefined
  const pinged = new Promise<void>(resolve => { speak = resolve })
  const { keepAlive, ...reply } = eventStream((async function * () {
    yield 'data: a\n\n'
    await pinged
    yield 'data: b\n\n'
  })())
  t.same(keepAlive, { text: ': ping\n', everyMs: 15_000 })
  const response = await responseTo(t, { ...reply, keepAlive: { text: ': ping\n', everyMs: 1 } })
  t.equal(response.headers.get('x-accel-buffering'), 'no')
  let text = ''
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString()
    if (text.includes('ping')) speak()
  }
  t.match(text, /^data: a\n\n(?:: ping\n)+data: b\n\n(?:: ping\n)*$/)
  t.same(sseDecoder(1e6).push(Buffer.from(text)).map(({ data }) => data), ['a', 'b'])
})

t.test('a failing body cuts the connection, so it never looks complete', async t => {
  let fail = (): void => undefined
  const begun = new Promise<void>(resolve => { fail = resolve })
  const response = await responseTo(t, {
    status: 200,
    headers: {},
    body: (async function * () {
      yield 'half'
      await begun
      throw new Error('broken')
    })()
  })
  fail()
  await t.rejects(response.text())
})

t.test('text is sent unchanged, whatever characters it has', async t => {
  const pieces = ['data: plain\n\n', '', 'data: “naïve” 漢字 👋\n\n', 'data: größe\n\n', 'x'.repeat(100_000)]
  const response = await responseTo(t, {
    status: 200,
    headers: {},
    body: (async function * () { yield * pieces })()
  })
  t.equal(await response.text(), pieces.join(''))
})

t.test('each piece is one chunk, sent before the next one is ready', async t => {
  t.same(await chunksOf(t, yields('a', '', 'ä', Buffer.from('ö'), 'b'.repeat(20_000))), [
    'a',
    'ä',
    'ö',
    'b'.repeat(20_000)
  ])
  let arrive = (): void => undefined
  const arrived = new Promise<void>(resolve => {
    arrive = resolve
  })
  const { port } = await serving(t, {
    status: 200,
    headers: {},
    body: (async function* () {
      yield 'a'
      await arrived
      yield 'b'
    })()
  })
  t.same(
    await chunksAt(port, text => {
      if (text.includes('a\r\n')) arrive()
    }),
    ['a', 'b']
  )
})

t.test('everything before a failure of the body is sent', async t => {
  const { port } = await serving(t, {
    status: 200,
    headers: {},
    body: (async function* () {
      yield 'a'
      throw new Error('broken')
    })()
  })
  t.same(await chunksAt(port), ['a'])
})

t.test(
  'a body is not read while its caller does not read, and continues once the caller does',
  async t => {
    let taken = 0
    const body = (async function* () {
      for (; taken < 512; taken++) yield 'x'.repeat(65_536)
    })()
    const { port } = await serving(t, { status: 200, headers: {}, body })
    const socket = connect(port, '127.0.0.1').pause()
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    let before = -1
    await until(
      () => (taken > 0 && taken === before) || ((before = taken), false),
      'nothing more to be taken'
    )
    t.ok(taken < 512, `${taken} of 512 pieces`)
    let sizeBytes = 0
    for await (const bytes of socket) sizeBytes += (bytes as Buffer).length
    t.ok(sizeBytes > 512 * 65_536)
  }
)

t.test('a caller who disconnects ends the body', async t => {
  let left = false
  const body = (async function * () {
    try {
      for (;;) {
        yield 'x'.repeat(65_536)
        await new Promise(resolve => { setImmediate(resolve) })
      }
    } finally {
      left = true
    }
  })()
  const ended = withResolvers<unknown>()
  const { port } = await serving(t, { status: 200, headers: {}, body }, ended.resolve)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  socket.once('data', () => socket.destroy())
  t.equal(await ended.promise, undefined, 'the reply ends without an error')
  t.ok(left, 'its body was returned')
})

t.test('a head that cannot be sent ends a body that has begun', async t => {
  let left = false
  const body: AsyncIterableIterator<string> = {
    next: async () => await new Promise(() => undefined),
    return: async () => {
      left = true
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => body
  }
  const ended = withResolvers<unknown>()
  const { port } = await serving(t, { status: 200, headers: { 'x-bad': 'a\nb' }, body }, ended.resolve)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  t.match(await ended.promise, { code: 'ERR_INVALID_CHAR' }, 'the reply fails')
  t.ok(left, 'its body was returned')
  t.equal(socket.bytesRead, 0, 'the connection is free for an error')
  socket.destroy()
})

t.test('an HTTP/1.0 caller gets the body without chunked encoding', async t => {
  const { port } = await serving(t, {
    status: 200,
    headers: {},
    body: (async function* () {
      yield 'ä'
      yield 'b'
    })()
  })
  const socket = connect(port, '127.0.0.1').end('GET / HTTP/1.0\r\n\r\n')
  let answer = ''
  for await (const bytes of socket) answer += String(bytes)
  t.equal(answer.slice(answer.indexOf('\r\n\r\n') + 4), 'äb')
})
