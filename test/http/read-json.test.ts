import { deflateSync, brotliCompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { asGatewayError, GatewayError } from '../../lib/core/errors.ts'
import { parseBody, readJson, type JsonLimits } from '../../lib/http/read-json.ts'
import { unbounded } from '../support/holding.ts'
import { openRequest } from '../support/open-request.ts'
import { httpServer } from '../support/http-server.ts'
import { raw, rest } from '../support/raw.ts'
import { countTurns } from '../support/turns.ts'
import type { Test } from 'tap'

const limits: JsonLimits = {
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
  readonly limits?: Partial<JsonLimits>
}

/** Returns what is read, or status, code and message of the refusal. */
async function read (t: Test, { body, headers = {}, limits: given = {} }: Sent): Promise<unknown> {
  const { request, response } = await openRequest(t, '/', {
    method: 'POST',
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers: { 'content-type': 'application/json', ...headers }
  })
  try {
    return await readJson(request, { ...limits, ...given })
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
      [400, 'invalid_json', 'The body must be a JSON object.']
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
        'The body has more than 10000 values (`limits.json_values`); keys, strings, objects and lists each count as eight.'
      ]
    ],
    'too many values, as texts count as eight': [
      { body: list(1300, JSON.stringify('a'.repeat(20))) },
      [
        413,
        'too_many_values',
        'The body has more than 10000 values (`limits.json_values`); keys, strings, objects and lists each count as eight.'
      ]
    ],
    'too many keys': [
      { body: `{${Array.from({ length: 6000 }, (_, number) => `"${number}":1`).join()}}` },
      [
        413,
        'too_many_values',
        'The body has more than 10000 values (`limits.json_values`); keys, strings, objects and lists each count as eight.'
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
      { ...encoded('gzip', gzipSync(text.repeat(4))), limits: { maxCompression: 2 } },
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
    read = readJson(request, { ...limits, onParsed: all => { pieces = all.length } })
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
    await read(t, { body, limits: { memory } })
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
    limits: {
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
  await t.rejects(readJson(request, { ...limits, timeoutMs: 5 }), { code: 'request_timeout', status: 408 })
  const reason = new GatewayError('client_closed_request')
  t.equal(
    await readJson(request, { ...limits, signal: AbortSignal.abort(reason) }).catch(
      (error: unknown) => error
    ),
    reason
  )
})

const parsing = { maxDepth: 3, maxStringBytes: 30_000_000 }

/** Returns the pieces of a text as they arrive. */
function pieces (text: string | Buffer, size = 64 * 1024): Buffer[] {
  const bytes = Buffer.from(text)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size)
  )
}

async function refusal (bytes: string | Buffer, changes: Partial<typeof parsing> = {}): Promise<unknown> {
  try {
    return await parseBody(pieces(bytes), { ...parsing, ...changes }).value
  } catch (error) {
    return Object(error).message
  }
}

t.test('a large body gives the same values and errors as a small one', async t => {
  const fill = `"fill":"${'ä'.repeat(200_000)}"`
  for (const member of ['"fill":""', fill]) {
    t.same(
      await parseBody(pieces(`{${member},"a":[1,{"b":null}]}`), parsing).value,
      JSON.parse(`{${member},"a":[1,{"b":null}]}`)
    )
    t.match(
      await refusal(`{${member},}`),
      /^The body (?:must be a JSON object|is not JSON: expected double-quoted property name at line 1, column \d+)\.$/
    )
    t.equal(await refusal(Buffer.from(`{${member},"a":"\u00ff"}`, 'latin1')), 'The body is not UTF-8.')
    t.same(
      await refusal(`{${member},"a":[[[1]]]}`),
      JSON.parse(`{${member},"a":[[[1]]]}`),
      'as deep as it may be'
    )
    t.equal(await refusal(`{${member},"a":[[[[1]]]]}`), 'The body is nested deeper than 3 levels.')
  }
})

t.test('a string in a large body may be as long as the limit, which the refusal names', async t => {
  t.equal(
    await refusal(`{"a":"${'ä'.repeat(600_000)}"}`, { maxStringBytes: 1024 * 1024 }),
    'The body has a string of more than 1 MB that is not base64.'
  )
})

t.test('other work continues while a large body is parsed, a small one is parsed at once', async t => {
  const turns = countTurns(t)
  t.notOk(parseBody(pieces('{"a":1}'), parsing).value instanceof Promise)
  const before = turns()
  await parseBody(pieces(`{"a":"${'a'.repeat(20_000_000)}"}`), parsing).value
  t.ok(turns() - before > 20, `${turns() - before} turns`)
})

t.test('a body that is not JSON is refused with position and reason, without quoting it', async t => {
  const rows: ReadonlyArray<readonly [body: string, message: string]> = [
    ['', 'The body is empty. Send a JSON object.'],
    ['{"a":', 'The body is not JSON: it ends too early, after 5 characters.'],
    ['{\n  "a": 1,\n}', 'The body is not JSON: expected double-quoted property name at line 3, column 1.'],
    ['{"secret" 1}', "The body is not JSON: expected ':' after property name at line 1, column 11."],
    ["{'secret': 1}", 'The body is not JSON: expected property name at line 1, column 2.'],
    ['{"a":1}secret', 'The body is not JSON: unexpected non-whitespace character at line 1, column 8.'],
    ['secret', 'The body is not JSON.']
  ]
  for (const [body, message] of rows) t.equal(await refusal(body), message, body)
})
