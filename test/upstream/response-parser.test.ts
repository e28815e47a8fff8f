import fc from 'fast-check'
import t from 'tap'
import { InvalidResponse, ResponseParser } from '../../lib/upstream/response-parser.ts'

/** Returns what a parser says about a response that comes in these pieces, and the error it throws. */
function parsed (pieces: readonly Buffer[], ends = false): { readonly said: unknown[], readonly body: string, readonly parser: ResponseParser } {
  const said: unknown[] = []
  const body: Buffer[] = []
  const parser = new ResponseParser({
    onHead: (status, headers) => said.push(status, headers),
    allocate: sizeBytes => Buffer.alloc(sizeBytes),
    onBytes: bytes => body.push(bytes),
    onEnd: () => said.push('end')
  })
  parser.begin()
  const shared = Buffer.alloc(64 * 1024) // as every connection reads into the same bytes
  for (const piece of pieces) {
    piece.copy(shared)
    parser.push(shared.subarray(0, piece.length))
    shared.fill('?')
  }
  if (ends) said.push(parser.end())
  return { said, body: Buffer.concat(body).toString('latin1'), parser }
}

function cutAt (bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  let rest = bytes
  for (const size of cuts) {
    if (rest.length === 0) break
    pieces.push(rest.subarray(0, size))
    rest = rest.subarray(size)
  }
  return rest.length > 0 ? [...pieces, rest] : pieces
}

const text = fc.string({ unit: 'binary', maxLength: 30 }).map(given => given.replace(/[^\0-\xff]/g, '\r\n'))
const interim = fc.constantFrom('', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n')
const chunk = fc.tuple(text.filter(({ length }) => length > 0), fc.constantFrom('', ';a=b', ' ;x="y"'), fc.boolean())
  .map(([data, extension, upper]) => ({ data, wire: `${upper ? data.length.toString(16).toUpperCase() : `0${data.length.toString(16)}`}${extension}\r\n${data}\r\n` }))
const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 })

t.test('any response is read the same however it is cut', async t => {
  const byLength = text.map(body => ({ head: `Content-Length: ${body.length}\r\n`, wire: body, body, headers: { 'content-length': String(body.length) } }))
  const byChunks = fc.tuple(fc.array(chunk, { maxLength: 8 }), fc.constantFrom('', 'x-trailer: 1\r\n')).map(([chunks, trailer]) => ({
    head: 'TRANSFER-ENCODING:chunked \r\n',
    wire: `${chunks.map(({ wire }) => wire).join('')}0\r\n${trailer}\r\n`,
    body: chunks.map(({ data }) => data).join(''),
    headers: { 'transfer-encoding': 'chunked' }
  }))
  fc.assert(fc.property(interim, fc.oneof(byLength, byChunks), cuts, (first, { head, wire, body, headers }, sizes) => {
    const bytes = Buffer.from(`${first}HTTP/1.1 200 OK\r\nX-A: 1\r\n${head}x-a:\t2 \r\nset-cookie: \xe9\r\n\r\n${wire}`, 'latin1')
    const result = parsed(cutAt(bytes, sizes))
    t.strictSame({ said: result.said, body: result.body }, { said: [200, { 'x-a': ['1', '2'], ...headers, 'set-cookie': '\xe9' }, 'end'], body })
    t.ok(result.parser.mayReuse)
  }), { numRuns: 300 })
})

t.test('memory for a body is requested with the number of bytes that are left of it, where that is known', async t => {
  const requested: Array<[number, number | undefined]> = []
  const parser = new ResponseParser({
    onHead: () => undefined,
    allocate: (sizeBytes, leftBytes) => {
      requested.push([sizeBytes, leftBytes])
      return Buffer.alloc(sizeBytes)
    },
    onBytes: () => undefined,
    onEnd: () => undefined
  })
  parser.begin()
  for (const piece of ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab', 'cde']) parser.push(Buffer.from(piece))
  parser.begin()
  for (const piece of ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab', 'c\r\n0\r\n\r\n']) parser.push(Buffer.from(piece))
  parser.begin()
  for (const piece of ['HTTP/1.1 200 OK\r\n\r\nab']) parser.push(Buffer.from(piece))
  t.same(requested, [[2, 5], [3, 3], [2, undefined], [8, undefined], [2, undefined]])
})

t.test('the chunks of one read are one piece', async t => {
  let pieces = 0
  const parser = new ResponseParser({ onHead: () => undefined, allocate: sizeBytes => Buffer.alloc(sizeBytes), onBytes: () => { pieces++ }, onEnd: () => undefined })
  parser.begin()
  parser.push(Buffer.from(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(100)}0\r\n\r\n`))
  t.equal(pieces, 1)
})

t.test('the extensions of one chunk are bounded, not those of all together', async t => {
  const chunks = `1;${'x'.repeat(100)}\r\na\r\n`.repeat(1000)
  const response = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\nx: ${'y'.repeat(15_000)}\r\n\r\n`
  t.match(parsed(cutAt(Buffer.from(response), [30_000, 30_000, 30_000])), { said: [200, {}, 'end'], body: 'a'.repeat(1000) })
})

t.test('a body without a length ends with its connection', async t => {
  const open = Buffer.from('HTTP/1.1 200 OK\r\n\r\nall of it')
  t.match(parsed([open], true), { said: [200, {}, 'end', true], body: 'all of it', parser: { mayReuse: false } })
  const cut = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfour')
  t.match(parsed([cut], true), { said: [200, {}, false], body: 'four' })
})

t.test('a connection is used again where the response allows it', async t => {
  const mayReuse = (lines: string, version = '1.1', status = '200'): boolean =>
    parsed([Buffer.from(`HTTP/${version} ${status} OK\r\n${lines}\r\n\r\n`)]).parser.mayReuse
  t.ok(mayReuse('content-length: 0'))
  t.ok(mayReuse('x: y', '1.1', '204'))
  t.ok(mayReuse('content-length: 0, 0'))
  t.notOk(mayReuse('content-length: 0\r\nConnection: Keep, CLOSE'))
  t.notOk(mayReuse('content-length: 0', '1.0'))
  t.ok(mayReuse('content-length: 0\r\nconnection: keep-alive', '1.0'))
  t.equal(parsed([Buffer.from('HTTP/1.1 204 No\r\nkeep-alive: max=9, timeout=7\r\n\r\n')]).parser.keepAliveMs, 7000)
  const both = 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n'
  t.match(parsed([Buffer.from(both)]), { body: 'a', parser: { mayReuse: false } }, 'lengths that contradict each other')
})

t.test('what is no response is refused', async t => {
  const ok = 'HTTP/1.1 200 OK\r\n'
  const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`
  const bad = [
    'HTTP/2 200\r\n\r\n', 'ICY 200 OK\r\n\r\n', 'HTTP/1.1 20 OK\r\n\r\n', 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    `${ok}no colon\r\n\r\n`, `${ok}: no name\r\n\r\n`, `${ok}a b: c\r\n\r\n`, `${ok}x: 1\r\n folded: 2\r\n\r\n`, `${ok}x: a\0\r\n\r\n`,
    `${ok}content-length: -1\r\n\r\n`, `${ok}content-length: 1, 2\r\n\r\n`, `${ok}content-length: 1e3\r\n\r\n`, `${ok}content-length: \r\n\r\n`,
    `${ok}transfer-encoding: gzip, chunked\r\n\r\n`, `${ok}x: ${'y'.repeat(20_000)}\r\n\r\n`, 'x'.repeat(20_000),
    `${chunked}\r\n`, `${chunked}g\r\n`, `${chunked}1\nab`, `${chunked}1\r\nab\r\n`, `${chunked}${'f'.repeat(14)}\r\n`, `${chunked}1;${'x'.repeat(20_000)}`,
    `${chunked}0\r\n${'x: y\r\n'.repeat(5000)}`
  ]
  for (const response of bad) t.throws(() => parsed([Buffer.from(response)]), InvalidResponse, response.slice(0, 60))
  const named = parsed([Buffer.from(`${ok}__proto__: x\r\nconstructor: y\r\ncontent-length: 0\r\n\r\n`)])
  t.equal(named.said[0], 200)
  t.equal(Object.getPrototypeOf(named.said[1]), Object.prototype)
})

t.test('the end of a response comes when nothing of it is left to read, and bytes behind it end the connection', async t => {
  for (const response of ['content-length: 2\r\n\r\nok', 'transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', 'content-length: 0\r\n\r\n']) {
    const statuses: number[] = []
    const mayReuse: boolean[] = []
    const parser = new ResponseParser({
      onHead: status => statuses.push(status),
      allocate: sizeBytes => Buffer.alloc(sizeBytes),
      onBytes: () => undefined,
      onEnd: () => {
        mayReuse.push(parser.mayReuse)
        parser.begin() // as for a request that waited
      }
    })
    parser.begin()
    parser.push(Buffer.from(`HTTP/1.1 200 OK\r\n${response}HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n`))
    t.strictSame({ statuses, mayReuse }, { statuses: [200], mayReuse: [false] })
    parser.push(Buffer.from(`HTTP/1.1 202 Accepted\r\n${response}`))
    t.strictSame({ statuses, mayReuse }, { statuses: [200, 202], mayReuse: [false, true] })
  }
})

t.test('what is given on of chunks with long extensions takes no more memory than twice its size', async t => {
  const memory: number[] = []
  const parser = new ResponseParser({
    onHead: () => {},
    allocate: sizeBytes => Buffer.alloc(sizeBytes),
    onBytes: bytes => memory.push(bytes.buffer.byteLength),
    onEnd: () => {}
  })
  parser.begin()
  parser.push(Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'))
  const data = 'x'.repeat(5000)
  const tiny = `1;${'e'.repeat(15_000)}\r\nx\r\n`
  parser.push(Buffer.from(`${tiny}1388;${'e'.repeat(15_000)}\r\n${data}\r\n`))
  parser.push(Buffer.from(`1388\r\n${data}\r\n`))
  t.equal(memory.length, 2)
  for (const bytes of memory) t.ok(bytes <= 2 * 5001, `${bytes} bytes`)
})
