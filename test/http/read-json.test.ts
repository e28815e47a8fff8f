import { deflateSync, brotliCompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { asGatewayError, GatewayError } from '../../lib/core/errors.ts'
import { readJson, type ReadJsonOptions } from '../../lib/http/read-json.ts'
import { unbounded } from '../support/holding.ts'
import { openRequest } from '../support/open-request.ts'
import { httpServer } from '../support/http-server.ts'
import { raw, rest } from '../support/raw.ts'
import type { Test } from 'tap'

const options: ReadJsonOptions = {
  maxBytes: 4_000_000,
  maxTextBytes: 3_000_000,
  maxStringBytes: 3_900_000,
  maxValues: 10_000,
  maxDepth: 8,
  maxCompression: 20,
  timeoutMs: 10_000,
  signal: new AbortController().signal,
  memory: unbounded
}

interface Sent {
  readonly body: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly options?: Partial<ReadJsonOptions>
}

/** Returns what is read, or status, code and message of the refusal. */
async function read (t: Test, { body, headers = {}, options: given = {} }: Sent): Promise<unknown> {
  const { request, response } = await openRequest(t, '/', {
    method: 'POST',
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers: { 'content-type': 'application/json', ...headers }
  })
  try {
    return await readJson(request, { ...options, ...given })
  } catch (error) {
    const { status, code, message } = asGatewayError(error)
    return [status, code, message]
  } finally {
    request.resume()
    response.end()
  }
}

const encoded = (encoding: string, body: Uint8Array): Sent => ({
  body,
  headers: { 'content-encoding': encoding }
})
const list = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join()}]`
/** Text that does not compress well. */
const text = JSON.stringify(
  Array.from({ length: 60_000 }, (_, number) => String((number * 7919) % 1_000_003)).join(' ')
)

t.test('a body is decoded to what was sent under any content encoding', async t => {
  const value = { text: 'größe 👋', list: [1, 2, { deep: null }] }
  const json = JSON.stringify(value)
  t.same(await read(t, { body: json }), value, 'plain')
  t.same(
    await read(t, { body: json, headers: { 'content-type': 'application/vnd.api+json; charset=utf-8' } }),
    value,
    'a type that ends in +json'
  )
  t.same(await read(t, encoded('gzip', gzipSync(json))), value, 'gzip')
  t.same(await read(t, encoded('deflate', deflateSync(json))), value, 'deflate')
  t.same(await read(t, encoded('br', brotliCompressSync(json))), value, 'brotli')
})

t.test('a body that cannot be accepted is refused with its specific reason', async t => {
  const rows: Readonly<Record<string, readonly [Sent, unknown]>> = {
    'another type': [
      { body: 'x', headers: { 'content-type': 'text/plain' } },
      [415, 'unsupported_media_type', 'The body is `text/plain`; send it as application/json.']
    ],
    'an unknown encoding': [
      encoded('lzma', Buffer.from('x')),
      [
        415,
        'unsupported_media_type',
        'The content encoding of the body is not supported here. Send it plain, or as gzip, deflate or br; zstd needs a gateway on Node.js 22.15 or newer.'
      ]
    ],
    'no JSON': [
      { body: '{"a":' },
      [400, 'invalid_json', 'The body is not JSON: it ends too early, after 5 characters.']
    ],
    'a broken archive': [
      encoded('gzip', Buffer.from('x')),
      [
        400,
        'invalid_json',
        'The body cannot be decompressed. Check that it is compressed as `Content-Encoding` says.'
      ]
    ],
    'other than UTF-8': [
      { body: Buffer.from([0x22, 0xff, 0x22]) },
      [400, 'invalid_json', 'The body is not UTF-8.']
    ],
    'nested too deep': [
      { body: '['.repeat(10) + ']'.repeat(10) },
      [400, 'invalid_json', 'The body is nested deeper than 8 levels.']
    ],
    'too many values in a small body': [
      { body: list(10_000, '1') },
      [
        413,
        'too_many_values',
        'The body has more than 10000 values (`limits.json_values`); property names, strings, objects and lists each count as eight.'
      ]
    ],
    'too many values, as texts count as eight': [
      { body: list(1300, JSON.stringify('a'.repeat(20))) },
      [
        413,
        'too_many_values',
        'The body has more than 10000 values (`limits.json_values`); property names, strings, objects and lists each count as eight.'
      ]
    ],
    'too many keys': [
      { body: `{${Array.from({ length: 6000 }, (_, number) => `"${number}":1`).join()}}` },
      [
        413,
        'too_many_values',
        'The body has more than 10000 values (`limits.json_values`); property names, strings, objects and lists each count as eight.'
      ]
    ],
    'too large': [
      { body: JSON.stringify('x'.repeat(4_000_000)) },
      [413, 'file_too_large', 'The body is larger than 3.8 MB.']
    ],
    'too much besides long strings': [
      { body: list(60, JSON.stringify('x'.repeat(60_000))) },
      [413, 'file_too_large', 'The body is larger than 2.9 MB.']
    ],
    'compressed further than text is': [
      encoded('gzip', gzipSync(JSON.stringify('x'.repeat(2_000_000)))),
      [413, 'file_too_large', 'The body is compressed more than 20:1.']
    ],
    'compressed further than the operator allows': [
      { ...encoded('gzip', gzipSync(text.repeat(4))), options: { maxCompression: 2 } },
      [413, 'file_too_large', 'The body is compressed more than 2:1.']
    ]
  }
  for (const [title, [sent, expected]] of Object.entries(rows)) t.same(await read(t, sent), expected, title)
})

t.test('long strings count towards the larger limit, and commas inside strings are not counted', async t => {
  t.equal(await read(t, { body: JSON.stringify('x'.repeat(3_500_000)) }), 'x'.repeat(3_500_000))
  t.equal(await read(t, { body: JSON.stringify(',:[{'.repeat(20_000)) }), ',:[{'.repeat(20_000))
  t.same(
    await read(t, { body: list(9990, '1') }),
    Array.from({ length: 9990 }, () => 1),
    'as many values as there may be'
  )
  t.same(
    await read(t, { body: list(1200, JSON.stringify('a'.repeat(20))) }),
    Array.from({ length: 1200 }, () => 'a'.repeat(20)),
    'as many texts as there may be'
  )
})

t.test('text with the compression ratio of normal text is accepted', async t => {
  const long = `[${text},${text},${text}]`
  const packed = gzipSync(long)
  t.ok(long.length > 1_048_576 && long.length < 20 * packed.length)
  t.same(await read(t, encoded('gzip', packed)), JSON.parse(long))
})

t.test('a body sent one byte per chunk is kept in few buffers', async t => {
  const value = { text: 'größe 👋 \\"'.repeat(3000), long: 'x'.repeat(100_000) }
  const bytes = Buffer.from(JSON.stringify(value))
  // The first and every thousandth chunk are larger, to check that the order is kept.
  const sizes = Array.from({ length: bytes.length }, (_, index) => index % 1000 === 0 ? 5000 : 1)
  const chunks: string[] = []
  for (let at = 0, index = 0; at < bytes.length; at += sizes[index++] ?? 1) {
    chunks.push(bytes.toString('latin1', at, at + (sizes[index] ?? 1)))
  }
  const sent = chunks.map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
  let read: Promise<unknown> | undefined
  let pieces = 0
  const { url } = await httpServer(t, (request, response) => {
    read = readJson(request, { ...options, onRead: all => { pieces = all.length } })
    read.then(() => response.end(), () => response.destroy())
  })
  const socket = await raw(t, url)
  socket.write(
    'POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n',
    'latin1'
  )
  socket.write(`${sent}0\r\n\r\n`, 'latin1')
  await rest(socket)
  t.same(await read, value)
  t.ok(pieces > 1 && pieces < 2 * bytes.length / 4096, `${pieces} pieces of ${chunks.length} chunks`)
})

t.test('a body reserves memory for its bytes as they arrive and for its values before parsing', async t => {
  const taken = async (body: string, leavesHalfFree: boolean): Promise<number> => {
    let sum = 0
    const memory = { leavesHalfFree: () => leavesHalfFree, take: (bytes: number) => { sum += bytes } }
    await read(t, { body, options: { memory } })
    return sum
  }
  const body = list(100, '1')
  t.equal(
    await taken(body, true),
    body.length * (2 + 128),
    'as if each byte were a value, while memory is free'
  )
  t.equal(await taken(body, false), body.length * 2 + 101 * 128, 'as many as there are, when it is not')
  const larger = list(9000, '1')
  t.equal(await taken(larger, true), larger.length * 2 + 9001 * 128, 'a larger body is always counted')
})

t.test('a body without enough free memory is refused before it is parsed', async t => {
  const full = new GatewayError('overloaded', { message: 'full' })
  const refused = await read(t, {
    body: '{"a":1}',
    options: {
      memory: {
        leavesHalfFree: () => false,
        take: () => {
          throw full
        }
      }
    }
  })
  t.same(refused, [503, 'overloaded', 'full'])
})

t.test('reading stops when a body times out or its call has ended', async t => {
  const body = new ReadableStream({ start: body => body.enqueue(Buffer.from('{')) })
  const { request } = await openRequest(t, '/', { method: 'POST', body, duplex: 'half' })
  await t.rejects(readJson(request, { ...options, timeoutMs: 5 }), { code: 'request_timeout', status: 408 })
  const reason = new GatewayError('client_closed_request')
  t.equal(
    await readJson(request, { ...options, signal: AbortSignal.abort(reason) }).catch(
      (error: unknown) => error
    ),
    reason
  )
})
