import { createServer } from 'node:http'
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { writeReply } from '../../lib/http/write-reply.ts'
import { eventStream } from '../../lib/replies/event-stream.ts'
import { sseReader } from '../../lib/wire/sse.ts'
import { receivedCall } from '../support/stages.ts'
import { until } from '../support/until.ts'
import type { AddressInfo } from 'node:net'
import type { PullResult, PullSource } from '../../lib/core/flow.ts'
import type { Reply } from '../../lib/core/reply.ts'
import type { Test } from 'tap'

/** Sends the reply to a caller of its own. */
async function responseTo (t: Test, reply: Reply): Promise<Response> {
  const { port } = await serving(t, reply)
  return await fetch(`http://127.0.0.1:${port}`)
}

/** A server that has only this reply. */
async function serving (t: Test, reply: Reply): Promise<AddressInfo> {
  const call = receivedCall({})
  const server = createServer((_request, response) => {
    writeReply(response, reply, call).catch(() => undefined) // the caller sees the cut
  })
  server.listen(0, '127.0.0.1')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  await once(server, 'listening')
  return server.address() as AddressInfo // listening on TCP
}

/** Pieces that wait for nothing; an error among them is thrown. */
class SyncPieces implements AsyncIterable<string | Uint8Array>, PullSource<string | Uint8Array> {
  readonly #pieces: Array<string | Uint8Array | Error>
  readonly isRead: boolean

  constructor (pieces: ReadonlyArray<string | Uint8Array | Error>, isRead = false) {
    this.#pieces = [...pieces]
    this.isRead = isRead
  }

  get hasEnded (): boolean {
    return this.#pieces.length === 0
  }

  pull (): PullResult<string | Uint8Array> {
    const value = this.#pieces.shift()
    if (value instanceof Error) throw value
    return value === undefined ? { done: true, value } : { done: false, value }
  }

  async next (): Promise<PullResult<string | Uint8Array>> {
    return this.pull()
  }

  [Symbol.asyncIterator] (): this {
    return this
  }
}

/** Counts how often it is paused. */
class PausedPieces extends SyncPieces {
  pauses = 0

  pause (): void {
    this.pauses++
  }
}

async function answerAt (port: number, onText: (text: string) => void = () => undefined): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n')
  let answer = ''
  for await (const bytes of socket.setEncoding('latin1')) {
    answer += String(bytes)
    onText(answer)
  }
  return answer
}

/** Returns the HTTP chunks of an answer, without the last. */
function chunksIn (answer: string): string[] {
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

t.test('a quiet stream shows that it lives, by a line that stands in front of the next event', async t => {
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
  t.same(sseReader(1e6).push(Buffer.from(text)).map(({ data }) => data), ['a', 'b'])
})

t.test('a body that fails cuts the connection: it never looks complete', async t => {
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

t.test('a text comes out as it went in, whatever its letters', async t => {
  const pieces = ['data: plain\n\n', '', 'data: “naïve” 漢字 👋\n\n', 'data: größe\n\n', 'x'.repeat(100_000)]
  const response = await responseTo(t, {
    status: 200,
    headers: {},
    body: (async function * () { yield * pieces })()
  })
  t.equal(await response.text(), pieces.join(''))
})

t.test('each piece is a chunk, and is sent before the next one is there', async t => {
  for (const pieces of [['a', 'b'], ['ä', Buffer.from('ö')], ['a'.repeat(20_000), 'b']]) {
    const { port } = await serving(t, { status: 200, headers: {}, body: new SyncPieces(pieces) })
    t.same(chunksIn(await answerAt(port)), pieces.map(String))
  }
  let arrive = (): void => undefined
  const arrived = new Promise<void>(resolve => { arrive = resolve })
  const { port } = await serving(t, { status: 200, headers: {}, body: (async function * () { yield 'a'; await arrived; yield 'b' })() })
  t.same(chunksIn(await answerAt(port, text => { if (text.includes('a\r\n')) arrive() })), ['a', 'b'])
})

t.test('a body that fails while it is read ahead has sent what came before', async t => {
  const { port } = await serving(t, { status: 200, headers: {}, body: new SyncPieces(['a', new Error('broken')]) })
  t.same(chunksIn(await answerAt(port)), ['a'])
})

t.test('what is written is paused while its caller does not read, and not while the system takes all of it', async t => {
  const fast = new PausedPieces(['x'.repeat(20_000)])
  t.equal((await (await responseTo(t, { status: 200, headers: {}, body: fast })).text()).length, 20_000)
  t.equal(fast.pauses, 0)
  const slow = new PausedPieces(Array.from({ length: 512 }, () => 'x'.repeat(65_536)))
  const { port } = await serving(t, { status: 200, headers: {}, body: slow })
  const socket = connect(port, '127.0.0.1').pause()
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  await until(() => slow.pauses === 1, 'a pause')
  t.notOk(slow.hasEnded, 'the rest is not read')
  let sizeBytes = 0
  for await (const bytes of socket) sizeBytes += (bytes as Buffer).length
  t.ok(sizeBytes > 512 * 65_536)
})

t.test('a caller of HTTP/1.0, who knows no chunks, gets the bare text', async t => {
  const { port } = await serving(t, { status: 200, headers: {}, body: (async function * () { yield 'ä'; yield 'b' })() })
  const socket = connect(port, '127.0.0.1').end('GET / HTTP/1.0\r\n\r\n')
  let answer = ''
  for await (const bytes of socket) answer += String(bytes)
  t.equal(answer.slice(answer.indexOf('\r\n\r\n') + 4), 'äb')
})
