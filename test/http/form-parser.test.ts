import { finished } from 'node:stream/promises'
import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { formParserPlugin } from '../../lib/http/form-parser.ts'
import type { Stream, Writable } from 'node:stream'

interface ReadPart {
  readonly name: string | null
  readonly originalFilename: string | null
  readonly mimetype: string | null
  text: string
  pieces: number
  ended: boolean
}

interface Result {
  readonly parts: readonly ReadPart[]
  readonly ended: boolean
  readonly error: unknown
}

const boundary = 'xyz'

/** Parses a body that arrives in pieces of a size, with the members of formidable's form that the parser uses. */
async function parse (body: string, pieceBytes = Infinity, maxParts = 10): Promise<Result> {
  const parts: ReadPart[] = []
  const form = {
    ended: false,
    _parser: undefined as Writable | undefined,
    _maybeEnd: () => undefined,
    onPart: (part: Stream & ReadPart) => {
      const read: ReadPart = { name: part.name, originalFilename: part.originalFilename, mimetype: part.mimetype, text: '', pieces: 0, ended: false }
      parts.push(read)
      part.on('data', (bytes: Buffer) => { read.text += bytes.toString('latin1'); read.pieces++ })
      part.on('end', () => { read.ended = true })
    }
  }
  const plugin = formParserPlugin(boundary, maxParts, () => new GatewayError('invalid_value', { message: 'too many' }))
  plugin(form as unknown as Parameters<typeof plugin>[0], {})
  const parser = form._parser!
  const failure = finished(parser).then(() => undefined, (error: unknown) => error)
  const bytes = Buffer.from(body, 'latin1')
  for (let start = 0; start < bytes.length; start += pieceBytes) parser.write(bytes.subarray(start, start + pieceBytes))
  parser.end()
  const error = await failure
  return { parts, ended: form.ended, error }
}

const written = (parts: ReadonlyArray<readonly [head: string, data: string]>): string =>
  `${parts.map(([head, data]) => `--${boundary}\r\n${head}${head === '' ? '' : '\r\n'}\r\n${data}\r\n`).join('')}--${boundary}--\r\n`
const disposition = (parameters: string): string => `Content-Disposition: form-data; ${parameters}`

t.test('parts are the same wherever the body is cut', async t => {
  const data = ['', 'plain', '\r\n', '\r\r\n-', `\r\n--${boundary}-`, `\r\n--${boundary}a\r\n--${boundary}\n`, `--${boundary}\r\n`, '\r\n--xy\r']
  const body = `a preamble\r\n${written(data.map((text, index) => [disposition(`name="${index}"`), text]))}an epilogue\r\n--${boundary}\r\n`
  for (const pieceBytes of [Infinity, 64, 7, 1]) {
    const { parts, ended, error } = await parse(body, pieceBytes)
    t.equal(error, undefined)
    t.ok(ended)
    t.same(parts.map(({ text }) => text), data, `${pieceBytes} bytes`)
    t.ok(parts.every(({ ended }) => ended))
  }
})

t.test('names are read as browsers and libraries write them', async t => {
  const rows: ReadonlyArray<readonly [head: string, name: string | null, fileName: string | null]> = [
    [disposition('name="a"'), 'a', null],
    [disposition('name=a; filename=b.png'), 'a', 'b.png'],
    ['content-disposition:form-data;name="a";filename="b c.png"', 'a', 'b c.png'],
    [disposition(String.raw`filename="C:\dir\b.png"; name="a"`), 'a', 'b.png'],
    [disposition('name="a"; filename="so "b".png"'), 'a', 'so "b".png'],
    [disposition('name="a"; filename="so %22b%22.png"'), 'a', 'so "b".png'],
    [disposition('name="a"; filename=""'), 'a', ''],
    [disposition('filename="b.png"'), null, 'b.png'],
    ['', null, null]
  ]
  const { parts } = await parse(written(rows.map(([head]) => [head, 'x'])))
  t.same(parts.map(({ name, originalFilename }) => [name, originalFilename]), rows.map(([, name, fileName]) => [name, fileName]))
})

t.test('a part is passed on in no more pieces than its body came in, whatever is in it', async t => {
  const size = 400_000
  for (const text of ['\r', '\r\n', `\r\n--${boundary}-`, `\r\n--${boundary}a`, '--', 'x']) {
    const data = text.repeat(Math.floor(size / text.length))
    for (const head of [disposition('name="a"'), `${disposition('name="a"')}\r\nContent-Transfer-Encoding: base64`]) {
      const { parts: [part] } = await parse(written([[head, data]]), 20_000)
      t.ok(part !== undefined && part.pieces <= size / 20_000 + 2, JSON.stringify(text))
    }
  }
})

t.test('nothing is read beyond the bounds of parts and their heads', async t => {
  const bounds: ReadonlyArray<readonly [body: string, parts: number, message: RegExp]> = [
    [written(Array.from({ length: 5000 }, () => ['', ''])), 10, /too many/],
    [written([[`${'a:b\r\n'.repeat(17)}c:d`, '']]), 0, /16 headers/],
    [written([['a:b\r\n'.repeat(100_000), '']]), 0, /4096 bytes/],
    [`--${boundary}\r\n${disposition(`name="a"; ${'filename="x'.repeat(1000)}`)}`, 0, /4096 bytes/],
    [written([['no colon', '']]), 0, /well-formed/],
    [written([[': no name', '']]), 0, /well-formed/],
    [written([['Content-Transfer-Encoding: rot13', '']]), 0, /well-formed/],
    [`--${boundary}\r\n\r\ncut`, 1, /well-formed/],
    ['', 0, /well-formed/]
  ]
  for (const [body, count, message] of bounds) {
    const { parts, error, ended } = await parse(body)
    t.equal(parts.length, count)
    t.match(error, { code: 'invalid_value', message })
    t.notOk(ended)
  }
})
