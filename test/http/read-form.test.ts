import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { existsSync, mkdirSync, statSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import t from 'tap'
import { asGatewayError, GatewayError } from '../../lib/core/errors.ts'
import { readForm, type ReadFormOptions, type OpenForm } from '../../lib/http/read-form.ts'
import { sweepUploads } from '../../lib/http/upload-directory.ts'
import { httpServer } from '../support/http-server.ts'
import { koaContext } from '../support/koa-context.ts'
import { scarce, unbounded } from '../support/holding.ts'
import { keptUploads } from '../support/uploads.ts'
import { until } from '../support/until.ts'
import type { AddressInfo } from 'node:net'
import type { Context } from 'koa'
import type { Test } from 'tap'

/** All files go to disk. */
const options: ReadFormOptions = {
  maxBytes: 100_000,
  maxFields: 100,
  maxFiles: 32,
  timeoutMs: 10_000,
  signal: new AbortController().signal,
  memory: scarce,
  disk: unbounded
}

interface Reader {
  readonly url: string
  /** Resolves with the result of the next request. */
  readonly next: () => Promise<OpenForm | GatewayError>
}

/** A server that reads forms and answers errors as the gateway does, discarding the rest of the body. */
async function reader (t: Test, parts: Partial<ReadFormOptions> = {}): Promise<Reader> {
  const results: Array<Promise<OpenForm | GatewayError>> = []
  const read = async (context: Context): Promise<OpenForm | GatewayError> => {
    try {
      return await readForm(context, { ...options, ...parts })
    } catch (error) {
      return asGatewayError(error)
    }
  }
  const server = createServer((request, response) => {
    const result = read(koaContext(request, response))
    results.push(result)
    void result.then(value => {
      response.writeHead(value instanceof GatewayError ? value.status : 200).end()
      request.resume()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    next: async () => {
      await until(() => results.length > 0, 'a request')
      return await results.shift()!
    }
  }
}

const boundary = 'xyz'
const type = `multipart/form-data; boundary=${boundary}`

/** A form written by hand, with exactly these headers in each part. */
function written (
  parts: ReadonlyArray<readonly [headers: string, body: string]>,
  end = `--${boundary}--\r\n`
): string {
  return parts.map(([headers, body]) => `--${boundary}\r\n${headers}\r\n\r\n${body}\r\n`).join('') + end
}

async function send (url: string, body: string, contentType = type): Promise<number> {
  return (await fetch(url, { method: 'POST', body, headers: { 'content-type': contentType } })).status
}

t.test('fields and files arrive as sent, and files can be read repeatedly', async t => {
  const { url, next } = await reader(t)
  const form = new FormData()
  const bytes = Buffer.alloc(9000, 'a multi-byte ü ')
  form.append('model', 'whisper-1')
  form.append('include[]', 'a')
  form.append('include[]', 'b')
  form.append('__proto__', 'x')
  form.append('file', new Blob([bytes], { type: 'audio/wav' }), '../up/C:\\dir\\so\u0007 "ü".wav')
  const images = Array.from({ length: 30 }, (_, position) => `${position}.png`)
  for (const name of images) form.append('image', new Blob(['1']), name)
  t.equal((await fetch(url, { method: 'POST', body: form })).status, 200)
  const open = (await next()) as OpenForm
  const { fields, files } = open.form
  t.equal(fields['model'], 'whisper-1')
  t.same(fields['include[]'], ['a', 'b'])
  t.notOk(Object.keys(fields).includes('polluted'))
  const [file] = files['file'] ?? []
  t.equal(file?.name, 'so "ü".wav')
  t.equal(file?.mediaType, 'audio/wav')
  t.equal(file?.sizeBytes, bytes.length)
  t.same(file?.head, bytes.subarray(0, 4100))
  for (const time of ['first', 'second']) {
    const again = file === undefined ? undefined : await buffer(file.open())
    t.ok(again?.equals(bytes), `the ${time} time`)
  }
  t.same(
    files['image']?.map(({ name, mediaType, sizeBytes }) => [name, mediaType, sizeBytes]),
    images.map(name => [name, 'application/octet-stream', 1]),
    'in the order of the form, whichever was written to disk first'
  )
  const directory = readdirSync(tmpdir()).find(name => name.startsWith(`headgate-uploads-${process.pid}-`))
  t.equal(statSync(join(tmpdir(), directory ?? '')).mode & 0o777, 0o700, 'no other user may read it')
  t.equal(keptUploads().length, 1)
  await open.remove()
  t.same(keptUploads(), [])
})

t.test('a file is kept in memory while that is cheap, the rest of it on disk', async t => {
  const bytes = Buffer.from(Array.from({ length: 90_000 }, (_, index) => index % 251))
  const form = (): FormData => {
    const form = new FormData()
    form.append('model', 'whisper-1')
    form.append('file', new Blob([bytes]), 'a.wav')
    return form
  }
  for (const [name, cheapBytes] of [
    ['memory alone', Infinity],
    ['memory and disk', 40_000],
    ['disk alone', 0]
  ] as const) {
    const taken = { memory: 0, disk: 0 }
    const { url, next } = await reader(t, {
      memory: {
        leavesHalfFree: bytes => taken.memory + bytes <= cheapBytes,
        take: bytes => {
          taken.memory += bytes
        }
      },
      disk: {
        leavesHalfFree: () => false,
        take: bytes => {
          taken.disk += bytes
        }
      }
    })
    await fetch(url, { method: 'POST', body: form() })
    const {
      form: { files },
      remove
    } = (await next()) as OpenForm
    const [file] = files['file'] ?? []
    for (const time of ['first', 'second']) {
      t.ok(file !== undefined && bytes.equals(await buffer(file.open())), `${name}, the ${time} time`)
    }
    t.same(file?.head, bytes.subarray(0, 4100))
    t.equal(keptUploads().length, cheapBytes === Infinity ? 0 : 1, name)
    t.equal(taken.memory > 40_000, cheapBytes === Infinity)
    t.equal(taken.disk > 45_000, cheapBytes !== Infinity)
    await remove()
    t.same(keptUploads(), [])
  }
})

t.test('a form that exceeds its memory or disk limit is refused', async t => {
  const full = {
    leavesHalfFree: () => false,
    take: () => {
      throw new GatewayError('overloaded')
    }
  }
  for (const [name, part] of [
    ['file', 'filename="a.wav"'],
    ['field', '']
  ] as const) {
    const { url, next } = await reader(t, { memory: full, disk: full })
    await send(url, written([[`Content-Disposition: form-data; name="x"; ${part}`, 'x'.repeat(50_000)]]))
    t.match(await next(), { code: 'overloaded' }, name)
    t.same(keptUploads(), [])
  }
})

t.test('a part with a file name is a file, any other a field, whatever its type', async t => {
  const { url, next } = await reader(t)
  await send(
    url,
    written([
      ['Content-Disposition: form-data; name="file"; filename="a.mp3"', 'sound'],
      [
        'Content-Disposition: form-data; name="model"\r\nContent-Type: text/plain; charset=utf-8',
        'whisper-1'
      ],
      [
        'Content-Disposition: form-data; name="mask"; filename=""\r\nContent-Type: application/octet-stream',
        ''
      ],
      ['Content-Disposition: form-data', 'no name']
    ])
  )
  const { form, remove } = (await next()) as OpenForm
  t.same(form.fields, { model: 'whisper-1' })
  t.same(Object.keys(form.files), ['file'])
  t.match(form.files['file'], [{ name: 'a.mp3', mediaType: 'application/octet-stream', sizeBytes: 5 }])
  await remove()
})

t.test('a file may be named by an encoded name', async t => {
  const { url, next } = await reader(t)
  const names = {
    "filename*=UTF-8''na%C3%AFve%20talk.mp3": 'naïve talk.mp3',
    "filename=\"talk.mp3\"; filename*=utf-8'en'%E2%82%AC.mp3": '€.mp3',
    "filename*=ISO-8859-1''%A3.mp3": '£.mp3',
    "filename=\"talk.mp3\"; filename*=UTF-8''%FF.mp3": 'talk.mp3',
    "filename*=UTF-8''..%2F..%2Ftalk.mp3": 'talk.mp3',
    "filename=\"talk.mp3\"; filename*=UTF-8''": 'talk.mp3'
  }
  for (const [parameters, name] of Object.entries(names)) {
    await send(url, written([[`Content-Disposition: form-data; name="file"; ${parameters}`, 'sound']]))
    const { form, remove } = (await next()) as OpenForm
    t.match(form.files['file'], [{ name, sizeBytes: 5 }], parameters)
    await remove()
  }
})

t.test('parts may name their transfer encoding, as some clients do', async t => {
  const { url, next } = await reader(t)
  const encoded = (name: string, encoding: string): string =>
    `Content-Disposition: form-data; name="${name}"\r\nContent-Transfer-Encoding: ${encoding}`
  await send(
    url,
    written([
      [encoded('a', '8bit'), 'ü'],
      [encoded('b', '7bit'), 'x'],
      [encoded('c', 'binary'), 'y'],
      [
        'Content-Disposition: form-data; name="file"; filename="a.bin"\r\nContent-Transfer-Encoding: binary',
        '\0\x01\x02\x03'
      ]
    ])
  )
  const { form, remove } = (await next()) as OpenForm
  t.same(form.fields, { a: 'ü', b: 'x', c: 'y' })
  t.same(form.files['file']?.[0]?.head, Buffer.from([0, 1, 2, 3]))
  await remove()
})

t.test('a field is read in the charset of its part, and refused if it is not text of it', async t => {
  const { url, next } = await reader(t)
  const sendField = async (name: string, contentType: string, bytes: Buffer): Promise<void> => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${contentType}\r\n\r\n`
    const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
    await fetch(url, { method: 'POST', body, headers: { 'content-type': type } })
  }
  const text = 'Grüße, 10 €'
  const rows: ReadonlyArray<readonly [contentType: string, bytes: Buffer, text: string]> = [
    ['', Buffer.from(text), text],
    ['\r\nContent-Type: text/plain', Buffer.from(text), text],
    ['\r\nContent-Type: text/plain; charset=ISO-8859-1', Buffer.from('Grüße', 'latin1'), 'Grüße'],
    ['\r\nContent-Type: text/plain;Charset="utf-16le"', Buffer.from(text, 'utf16le'), text],
    ['\r\nContent-Type: text/plain; charset=US-ASCII', Buffer.from('Gruss'), 'Gruss'],
    ['\r\nContent-Type: text/plain; charset=windows-1251', Buffer.from([0xcf]), 'П']
  ]
  for (const [contentType, bytes, text] of rows) {
    await sendField('prompt', contentType, bytes)
    const { form, remove } = (await next()) as OpenForm
    t.same(form.fields, { prompt: text }, contentType)
    await remove()
  }
  const refused: ReadonlyArray<readonly [contentType: string, bytes: Buffer, message: RegExp]> = [
    ['', Buffer.from('Grüße', 'latin1'), /^The field `prompt` is not UTF-8. Send the form as UTF-8/],
    ['', Buffer.from([0xe2, 0x82]), /is not UTF-8/],
    ['\r\nContent-Type: text/plain; charset=utf-16', Buffer.from('abc'), /is not utf-16/],
    ['\r\nContent-Type: text/plain; charset=klingon', Buffer.from('x'), /^The charset `klingon` of the field `prompt` is not known/]
  ]
  for (const [contentType, bytes, message] of refused) {
    await sendField('prompt', contentType, bytes)
    t.match(await next(), { status: 400, code: 'invalid_value', param: 'prompt', message }, contentType)
  }
})

t.test('parameters of the content type may stand in any order, with space between them', async t => {
  const { url, next } = await reader(t)
  const field = written([['Content-Disposition: form-data; name="a"', 'b']])
  for (const parameters of [
    `boundary=${boundary} ; charset=utf-8`,
    `charset=utf-8; boundary=${boundary}`,
    `boundary="${boundary}" ;charset=utf-8`,
    `Boundary=${boundary}`
  ]) {
    await send(url, field, `Multipart/Form-Data; ${parameters}`)
    const { form, remove } = (await next()) as OpenForm
    t.same(form.fields, { a: 'b' }, parameters)
    await remove()
  }
})

t.test('a body sent one byte per chunk is read normally', async t => {
  const { url, next } = await reader(t)
  const request = httpRequest(url, { method: 'POST', headers: { 'content-type': type } })
  for (const byte of Buffer.from(written([['Content-Disposition: form-data; name="a"', 'ü\r\n--xy']]))) {
    request.write(Buffer.of(byte))
  }
  request.end()
  const { form, remove } = (await next()) as OpenForm
  t.same(form.fields, { a: 'ü\r\n--xy' })
  await remove()
})

t.test('koa-body alone with every option set would read an endless body without parts', async t => {
  const app = new Koa().use(
    koaBody({
      multipart: true,
      formidable: {
        maxFields: 1,
        maxFieldsSize: 1000,
        maxFiles: 1,
        maxFileSize: 1000,
        maxTotalFileSize: 1000
      }
    })
  )
  const handle = app.use(context => { context.status = 204 }).callback()
  const { url } = await httpServer(t, (request, response) => void handle(request, response))
  const preamble = `${'x'.repeat(3_000_000)}\r\n`
  t.equal(await send(url, preamble + written([])), 204)
  const { url: bounded, next } = await reader(t)
  await send(bounded, preamble + written([]))
  t.match(await next(), { code: 'invalid_value', message: /512 KB/ })
})

t.test('refused forms leave nothing behind', async t => {
  const { url, next } = await reader(t)
  const field = ['Content-Disposition: form-data; name="a"', 'b'] as const
  const file = (name: string, body: string): readonly [string, string] => [
    `Content-Disposition: form-data; name="${name}"; filename="${name}.wav"\r\nContent-Type: audio/wav`,
    body
  ]
  const rows: ReadonlyArray<readonly [name: string, body: string, expected: object, contentType?: string]> =
    [
      ['JSON', '{}', { status: 415, code: 'unsupported_media_type' }, 'application/json'],
      [
        'another multipart',
        written([field]),
        { status: 415, code: 'unsupported_media_type' },
        `multipart/mixed; boundary=${boundary}`
      ],
      [
        'no boundary',
        written([field]),
        { status: 400, code: 'invalid_value', message: /boundary/ },
        'multipart/form-data'
      ],
      [
        'a boundary of 71 characters',
        written([field]),
        { status: 400, code: 'invalid_value', message: /boundary of the form is longer than 70/ },
        `multipart/form-data; boundary=${'x'.repeat(71)}`
      ],
      [
        'an empty boundary',
        written([field]),
        { status: 400, code: 'invalid_value' },
        'multipart/form-data; boundary='
      ],
      [
        'another boundary',
        written([field]),
        { status: 400, code: 'invalid_value' },
        'multipart/form-data; boundary=abc'
      ],
      [
        'cut in a part',
        written([field, file('file', 'sou')], ''),
        { status: 400, code: 'invalid_value', message: /well-formed/ }
      ],
      [
        'an unknown transfer encoding',
        written([[`${field[0]}\r\nContent-Transfer-Encoding: rot13`, 'b']]),
        { status: 400, code: 'invalid_value' }
      ],
      [
        'base64',
        written([[`${field[0]}\r\nContent-Transfer-Encoding: base64`, 'aGVsbG8=']]),
        { status: 400, code: 'invalid_value', message: /base64/ }
      ],
      [
        'nothing but carriage returns',
        written([file('file', '\r'.repeat(90_000))]),
        { status: 400, code: 'invalid_value', message: /carriage returns/ }
      ],
      [
        'too many fields',
        written(Array.from({ length: 101 }, () => field)),
        { status: 400, code: 'invalid_value', message: /100 fields/ }
      ],
      [
        'too many files',
        written(Array.from({ length: 33 }, () => file('file', 'x'))),
        { status: 400, code: 'invalid_value', message: /32 files/ }
      ],
      [
        'an empty file',
        written([file('file', '')]),
        { status: 422, detail: [{ loc: ['body', 'file'], type: 'value_error', msg: /empty/ }] }
      ],
      [
        'a large file',
        written([field, file('photo', 'x'.repeat(100_001))]),
        { status: 413, code: 'file_too_large', param: 'photo', message: /larger than 0.1 MB/ }
      ],
      [
        'large files',
        written([file('first', 'x'.repeat(60_000)), file('second', 'x'.repeat(60_000))]),
        { status: 413, code: 'file_too_large', param: 'second' }
      ],
      [
        'a large field',
        written([[field[0], 'x'.repeat(8_400_000)]]),
        { status: 413, code: 'file_too_large', param: null, message: /fields of the form are larger than 8 MB/ }
      ],
      [
        'a header without end',
        `--${boundary}\r\nX-Long: ${'x'.repeat(2_000_000)}`,
        { status: 400, code: 'invalid_value', message: /512 KB/ }
      ],
      [
        'a head with too many headers',
        written([[`${field[0]}\r\n${'A:b\r\n'.repeat(20_000)}C:d`, 'b']]),
        { status: 400, code: 'invalid_value', message: /carriage returns/ }
      ],
      [
        'too many parts without a name',
        written(Array.from({ length: 1000 }, () => ['X: y', 'z'] as const)),
        { status: 400, code: 'invalid_value', message: /100 fields/ }
      ],
      [
        'a long boundary',
        written([field]),
        { status: 400, code: 'invalid_value', message: /70 characters/ },
        `multipart/form-data; boundary=${'b'.repeat(71)}`
      ]
    ]
  for (const [name, body, expected, contentType = type] of rows) {
    const status = await send(url, body, contentType)
    const failure = await next()
    t.match(failure, expected, name)
    t.equal(status, Reflect.get(expected, 'status'), `${name}: the caller reads it`)
    t.same(keptUploads(), [], `${name}: no files`)
  }
  const packed = await fetch(url, {
    method: 'POST',
    body: 'x',
    headers: { 'content-type': type, 'content-encoding': 'gzip' }
  })
  t.equal(packed.status, 415)
  await next()
  const complete = await send(url, written([field, file('file', 'x'.repeat(100_000))]))
  t.equal(complete, 200, 'as large as allowed')
  const taken = (await next()) as OpenForm
  await taken.remove()
})

t.test('the configuration limits the number of fields and files', async t => {
  const { url, next } = await reader(t, { maxFields: 2, maxFiles: 1 })
  const field = ['Content-Disposition: form-data; name="a"', 'b'] as const
  const file = [
    'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav',
    'x'
  ] as const
  for (const [parts, status] of [
    [[field, field, file], 200],
    [[field, field, field], 400],
    [[file, file], 400]
  ] as const) {
    t.equal(await send(url, written(parts), type), status)
    const result = await next()
    if (result instanceof GatewayError)
      t.equal(result.message, 'A form may have up to 2 fields and 1 files.')
    else await result.remove()
  }
})

t.test('the limit holds for a body without a Content-Length', async t => {
  const { url, next } = await reader(t)
  const request = httpRequest(url, { method: 'POST', headers: { 'content-type': type } })
  request.on('error', () => undefined)
  request.write(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n`)
  request.write('x'.repeat(300_000))
  t.match(await next(), { code: 'file_too_large', param: 'file' })
  t.same(keptUploads(), [])
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  t.equal(response.statusCode, 413, 'long before the body has ended')
  request.destroy()
})

t.test('a caller who disconnects and a body that times out leave nothing behind', async t => {
  const leaving = new AbortController()
  const gone = new GatewayError('client_closed_request')
  const aborted = await reader(t, { signal: leaving.signal })
  const slow = await reader(t, { timeoutMs: 50 })
  for (const { url, next } of [aborted, slow]) {
    const request = httpRequest(url, { method: 'POST', headers: { 'content-type': type } })
    request.on('error', () => undefined)
    request.write(
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n${'x'.repeat(50_000)}`
    )
    const result = next()
    if (url === aborted.url) {
      await once(request, 'socket')
      leaving.abort(gone)
      t.equal(await result, gone)
    } else {
      t.match(await result, { code: 'request_timeout', status: 408 })
    }
    t.same(keptUploads(), [])
    request.destroy()
  }
})

t.test('a recording of random bytes is read completely, however it is split', async t => {
  const bytes = Buffer.concat(
    Array.from({ length: 40 }, (_, index) => createHash('sha512').update(String(index)).digest())
  ).subarray(0, 2500)
  const form = Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n`),
    bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`)
  ])
  for (const size of [form.length, 64, 7, 1]) {
    const { url, next } = await reader(t)
    const request = httpRequest(url, { method: 'POST', headers: { 'content-type': type } })
    for (let at = 0; at < form.length; at += size) request.write(form.subarray(at, at + size))
    request.end()
    const {
      form: { files },
      remove
    } = (await next()) as OpenForm
    const [file] = files['file'] ?? []
    t.ok(file !== undefined && bytes.equals(await buffer(file.open())), `${size} bytes`)
    await remove()
  }
})

t.test('files left by a dead process are deleted, files of a running one are kept', async t => {
  const dead = join(tmpdir(), `headgate-uploads-${2 ** 22 + 1}-dead`)
  const alive = join(tmpdir(), `headgate-uploads-${process.ppid}-alive`)
  const other = join(tmpdir(), `headgate-uploads-other-${process.pid}`)
  for (const directory of [dead, alive, other]) {
    mkdirSync(join(directory, 'call-1'), { recursive: true })
    writeFileSync(join(directory, 'call-1', 'file'), 'private')
  }
  await sweepUploads()
  t.notOk(existsSync(dead))
  t.ok(existsSync(alive))
  t.ok(existsSync(other), 'not one of ours')
  for (const directory of [alive, other]) rmSync(directory, { recursive: true })
})
