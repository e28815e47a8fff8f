import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { mock } from 'node:test'
import { Readable } from 'node:stream'
import Dedalus from 'dedalus-labs'
import OpenAI from 'openai'
import t from 'tap'
import { readJson } from '../../lib/http/read-json.ts'
import { readDocument } from '../../lib/ocr/document.ts'
import { localPrograms } from '../../lib/local/programs.ts'
import { runProgram } from '../../lib/async/run-program.ts'
import { mistralOcr } from '../../lib/providers/mistral/ocr.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { deadline } from '../../lib/stages/deadline.ts'
import { bufferBody } from '../../lib/wire/buffer-body.ts'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { scannedPdf, textPdf } from '../support/pdf.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { countTurns } from '../support/turns.ts'
import { unbounded } from '../support/holding.ts'
import { until } from '../support/until.ts'
import { fakeUpstream, type FakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import type { IncomingMessage } from 'node:http'
import type { OcrAnswer } from '../../schemas/ocr.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const path = '/v1/ocr'
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const pages = (...markdown: string[]): string =>
  JSON.stringify({
    pages: markdown.map((markdown, index) => ({ index, markdown, images: [], dimensions: null })),
    model: 'mistral-ocr-2512',
    document_annotation: null,
    usage_info: { pages_processed: markdown.length, doc_size_bytes: 5 }
  })

async function start (
  t: Test,
  script: Script | ((request: SeenRequest, number: number) => Script),
  limits: Partial<Settings['limits']> = {}
): Promise<{
  upstream: FakeUpstream
  api: TestGateway
  read: (url: unknown, more?: object) => Promise<Response>
}> {
  const upstream = await fakeUpstream(script)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'mistral', 'mistral')],
    limits: { ...settings().limits, ...limits }
  })
  t.teardown(upstream.close)
  return {
    upstream,
    api,
    read: async (url, more = {}) =>
      await api.post(path, { document: { type: 'document_url', document_url: url }, ...more })
  }
}

function dataUrl (bytes: Uint8Array, type = 'application/octet-stream'): string {
  return `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
}

t.test('documents are sent in the form the provider accepts, and only pages are returned', async t => {
  const { upstream, api, read } = await start(t, { pieces: [pages('# One', 'Two')] })
  const response = await read('https://example.com/paper.pdf')
  t.equal(response.status, 200)
  t.same(await response.json(), {
    pages: [
      { index: 0, markdown: '# One' },
      { index: 1, markdown: 'Two' }
    ],
    model: 'mistral/mistral-ocr-latest'
  })
  await read('https://example.com/scan.JPG?x=.pdf', { model: 'mistral-ocr-latest' })
  await read(dataUrl(png, 'application/pdf'), { model: 'mistral/mistral-ocr-latest' })
  await read(dataUrl(textPdf([['hello']]), 'image/png'), { model: null })
  await api.post(path, { document: { document_url: 'https://example.com/a.png' } })
  const bodies = upstream.requests.map(({ json }) => json)
  const rest = { model: 'mistral-ocr-latest', include_image_base64: false }
  t.same(
    bodies,
    [
      { document: { type: 'document_url', document_url: 'https://example.com/paper.pdf' }, ...rest },
      { document: { type: 'image_url', image_url: 'https://example.com/scan.JPG?x=.pdf' }, ...rest },
      { document: { type: 'image_url', image_url: dataUrl(png, 'image/png') }, ...rest },
      {
        document: { type: 'document_url', document_url: dataUrl(textPdf([['hello']]), 'application/pdf') },
        ...rest
      },
      { document: { type: 'image_url', image_url: 'https://example.com/a.png' }, ...rest }
    ],
    'by what the bytes are, whatever is said of them'
  )
  t.equal(upstream.requests[0]?.path, '/v1/ocr')
  await until(() => api.lines.length === 5, 'five lines in the log')
  t.match(api.lines[0], { endpoint: 'ocr', pages: 2, model: 'mistral/mistral-ocr-latest' })
})

t.test(
  "an image may be sent as an image, by address or bytes, as in the provider's API",
  async t => {
    const { upstream, api } = await start(t, { pieces: [pages('# One')] })
    const large = Buffer.concat([png, Buffer.alloc(200_000)])
    const urls = [
      'https://example.com/a',
      { url: 'https://example.com/b', detail: 'high' },
      dataUrl(png, 'image/png'),
      { url: dataUrl(large) },
      dataUrl(textPdf([['hello']]))
    ]
    for (const url of urls) {
      const answer = await api.post(path, {
        document: { type: 'image_url', image_url: url, document_url: 5 }
      })
      t.equal(answer.status, 200)
      t.match(await answer.json(), { pages: [{ index: 0, markdown: '# One' }] })
    }
    t.same(
      upstream.requests.map(({ json }) => Object(json).document),
      [
        { type: 'image_url', image_url: 'https://example.com/a' },
        { type: 'image_url', image_url: 'https://example.com/b' },
        { type: 'image_url', image_url: dataUrl(png, 'image/png') },
        { type: 'image_url', image_url: dataUrl(large, 'image/png') },
        { type: 'document_url', document_url: dataUrl(textPdf([['hello']]), 'application/pdf') }
      ],
      'bytes by what they are'
    )
  }
)

t.test('an address declared as an image is not requested a second time', async t => {
  const refused = {
    status: 400,
    pieces: [
      JSON.stringify({ object: 'error', message: 'image/heic is not supported.', type: 'invalid_file' })
    ]
  }
  const { upstream, api } = await start(t, refused)
  const answer = await api.post(path, {
    document: { type: 'image_url', image_url: 'https://example.com/a' }
  })
  t.equal(answer.status, 400)
  t.match(await answer.json(), { error: { code: 'unsupported_format' } })
  t.equal(upstream.requests.length, 1)
})

t.test('pages are in order and counted from 0, whatever the provider does', async t => {
  const odd = [{ index: 3, markdown: 'c' }, { index: 1, markdown: 'a' }, { index: 2 }]
  const { read } = await start(t, { pieces: [JSON.stringify({ pages: odd })] })
  t.match(await (await read('https://example.com/a')).json(), {
    pages: [
      { index: 0, markdown: 'a' },
      { index: 1, markdown: '' },
      { index: 2, markdown: 'c' }
    ]
  })
})

t.test('the pages that the provider has processed are billed, or those of the answer', async t => {
  const reports = [{ pages_processed: 3 }, { pages_processed: 0 }, undefined]
  const { api, read } = await start(t, (_, number) => ({
    pieces: [JSON.stringify({ pages: [{ index: 0, markdown: 'a' }], usage_info: reports[number] })]
  }))
  for (const _ of reports) await read('https://example.com/a')
  await until(() => api.lines.length === 3, 'three lines in the log')
  t.match(api.lines, [{ pages: 3 }, { pages: 1 }, { pages: 1 }])
})

t.test('only the selected pages are read, under their numbers', async t => {
  const { upstream, read } = await start(t, { pieces: [pages('a', 'c')] })
  const three = dataUrl(textPdf([['a'], ['b'], ['c']]))
  for (const selected of ['0,2', [2, 0]]) {
    const response = await read(three, { pages: selected, image_limit: 0, image_min_size: 9 })
    t.match(await response.json(), {
      pages: [
        { index: 0, markdown: 'a' },
        { index: 2, markdown: 'c' }
      ]
    })
    t.match(upstream.requests.at(-1)?.json, { pages: [0, 2], image_limit: 0, image_min_size: 9 })
  }
  const sent = upstream.requests.length
  for (const [document, selected] of [[three, '3'], [three, 'two'], [dataUrl(png), [1]]]) {
    const response = await read(document, { pages: selected })
    t.equal(response.status, 400)
    t.match(await response.json(), { error: { code: 'invalid_value', param: 'pages' } })
  }
  t.equal((await read(three, { pages: -1 })).status, 422)
  t.equal(upstream.requests.length, sent)
})

t.test('a parameter that asks for more than Markdown is refused by name', async t => {
  const { upstream, read } = await start(t, { pieces: [pages('a')] })
  for (const [param, value] of Object.entries({
    include_image_base64: true,
    table_format: 'html',
    extract_header: true,
    include_blocks: true,
    document_annotation_prompt: 'x',
    confidence_scores_granularity: 'page'
  })) {
    const response = await read('https://example.com/a.pdf', { [param]: value })
    t.equal(response.status, 400)
    t.match(await response.json(), {
      error: { code: 'unsupported_parameter', param, message: `\`${param}\`` }
    })
  }
  t.equal(upstream.requests.length, 0)
  const nothing = { include_image_base64: false, table_format: null }
  const response = await read('https://example.com/a.pdf', nothing)
  t.equal(response.status, 200)
})

t.test('unreadable documents are refused before anything is sent', async t => {
  const { upstream, api, read } = await start(t, {}, { documentBytes: 100_000 })
  const row = async (url: unknown, status: number, code: string, name = String(url)): Promise<void> => {
    const response = await read(url)
    t.equal(response.status, status, name.slice(0, 60))
    t.match(
      await response.json(),
      status === 422
        ? { detail: [{ loc: ['body', 'document', 'document_url'], type: code }] }
        : { error: { type: 'invalid_request_error', code, param: 'document' } }
    )
  }
  await row(5, 422, 'string_type')
  await row('', 400, 'invalid_value')
  await row('nowhere', 400, 'invalid_value')
  for (const url of [
    'http://example.com/a.pdf',
    'file:///etc/passwd',
    'ftp://example.com/a',
    'javascript:1',
    'HTTP://x'
  ]) {
    await row(url, 400, 'invalid_value')
  }
  await row('https://user:word@example.com/a.pdf', 400, 'invalid_value')
  await row(`https://example.com/${'a'.repeat(9000)}`, 400, 'invalid_value')
  await row(`https://example.com/${'a'.repeat(90_000)}`, 400, 'invalid_value', 'a very long address')
  await row('data:application/pdf,hello', 400, 'invalid_value')
  await row('data:application/pdf;base64', 400, 'invalid_value')
  await row('data:application/pdf;base64,', 400, 'invalid_value')
  await row('data:application/pdf;base64,@@@@', 400, 'invalid_value')
  await row(`${dataUrl(png)}é`, 400, 'invalid_value')
  await row(`${dataUrl(png)}=AAAA`, 400, 'invalid_value')
  await row(
    `${dataUrl(Buffer.concat([png, Buffer.alloc(90_000)]))}Ł`,
    400,
    'invalid_value',
    'a long one with a strange end'
  )
  await row(dataUrl(Buffer.from('<html>')), 400, 'unsupported_format')
  await row(dataUrl(Buffer.from('GIF89a')), 400, 'unsupported_format')
  await row(
    dataUrl(Buffer.concat([png, Buffer.alloc(100_001 - png.length)])),
    413,
    'file_too_large',
    'one byte too many'
  )
  const missing = await api.post(path, { model: 'mistral-ocr-latest' })
  t.equal(missing.status, 422)
  t.match(await missing.json(), { detail: [{ loc: ['body', 'document'], type: 'missing' }] })
  for (const [document, loc, type] of [
    [{ type: 'file', file_id: 'file-1' }, [], 'union_tag_invalid'],
    [{ type: 'image_url', document_url: 'https://example.com/a.png' }, ['image_url'], 'missing'],
    [{ type: 'image_url', image_url: { url: 5 } }, ['image_url', 'url'], 'string_type'],
    [{ image_url: 'https://example.com/a.png' }, ['document_url'], 'missing']
  ] as const) {
    const answer = await api.post(path, { document })
    t.equal(answer.status, 422)
    const body = await answer.json()
    t.match(body, { detail: [{ loc: ['body', 'document', ...loc], type }] })
    if (loc.length === 0) {
      t.match(body, { detail: [{ ctx: { expected_tags: "'document_url', 'image_url'" } }] })
    }
  }
  t.equal(upstream.requests.length, 0)
  const exact = Buffer.concat([png, Buffer.alloc(100_000 - png.length)])
  t.equal((await read(dataUrl(exact))).status, 502, 'the largest is sent')
  t.match(upstream.requests[0]?.json, { document: { image_url: dataUrl(exact, 'image/png') } })
})

t.test(
  'a document of the maximum size is passed on unchanged, even with every slash escaped',
  async t => {
    const { upstream, api } = await start(
      t,
      { pieces: [pages('x')] },
      { documentBytes: 50_000_000, callMs: 60_000, bodyMs: 60_000 }
    )
    const noise = (sizeBytes: number): Buffer => {
      const bytes = Buffer.alloc(sizeBytes)
      for (let at = 0; at < sizeBytes; at += 4) bytes.writeInt32LE(Math.imul(at, 0x9e3779b1), at)
      png.copy(bytes)
      return bytes
    }
    for (const [number, sizeBytes] of [50_000_000, 1_000_000].entries()) {
      const bytes = noise(sizeBytes)
      const body = JSON.stringify({ document: { document_url: dataUrl(bytes) } })
      t.equal((await api.post(path, number === 0 ? body : body.replaceAll('/', '\\/'))).status, 200)
      const { text = '', headers } = upstream.requests[number] ?? {}
      t.ok(text.includes(dataUrl(bytes, 'image/png')), 'byte by byte')
      t.equal(headers?.['content-length'], String(text.length), 'with its length')
    }
  }
)

t.test(
  'large documents together read, decode or send one piece per tick of the event loop',
  async t => {
    const turns = countTurns(t)
    const since = (start: number, pieces: number, what: string): void => {
      t.ok(turns() - start >= pieces, `${what}: ${turns() - start} turns for ${pieces} pieces`)
    }
    const { signal } = new AbortController()
    const size = 5_000_000
    const url = dataUrl(Buffer.concat([png, Buffer.alloc(size)]))
    const three = async <T>(work: () => Promise<T>): Promise<T[]> =>
      await Promise.all([work(), work(), work()])

    let start = turns()
    const texts = await three(async () => {
      const socket = Readable.from(
        Buffer.from(JSON.stringify(url))
          .toString('latin1')
          .match(/[^]{1,65536}/g) ?? [],
        { objectMode: false }
      )
      // everything read of one
      const request = Object.assign(socket, { headers: {} }) as unknown as IncomingMessage
      return await readJson(request, {
        maxBytes: 1e8,
        maxStringBytes: 1e9,
        maxTextBytes: 1e8,
        maxValues: 10,
        maxDepth: 2,
        maxCompression: 20,
        timeoutMs: 60_000,
        signal,
        memory: unbounded
      })
    })
    t.ok(texts.every(text => text === url))
    since(start, 3 * Math.floor(url.length / 65536) - 3, 'reading')

    start = turns()
    const [document] = await three(async () => await readDocument(url, 10_000_000, signal))
    t.match(document, { kind: 'bytes', mediaType: 'image/png' })
    since(start, 3 * Math.floor(url.length / 262_144) - 3, 'decoding')

    const route = {
      providerId: 'mistral',
      model: 'mistral-ocr-latest',
      modelId: 'mistral/mistral-ocr-latest'
    }
    start = turns()
    const bodies = await three(
      async () =>
        await bufferBody(
          mistralOcr.request({ request: { document: document! }, route, quirks: {}, streamed: false }).body
        )
    )
    t.ok(bodies.every(body => body.includes(url.slice(-size))))
    since(start, 3 * Math.floor(url.length / 262_144), 'sending')
  }
)

t.test('an abandoned document is not decoded', async t => {
  const leaving = new AbortController()
  const given = readDocument(
    dataUrl(Buffer.concat([png, Buffer.alloc(1_000_000)])),
    10_000_000,
    leaving.signal
  )
  leaving.abort(new Error('gone'))
  await t.rejects(given, { message: 'gone' })
})

t.test('a body that is not UTF-8 is refused, with or without a long string', async t => {
  const { upstream, api } = await start(t, { pieces: [pages('x')] })
  for (const length of [10, 100_000]) {
    const document = `{"document":{"document_url":"data:image/png;base64,${'A'.repeat(length)}"},"model":"caf\xe9"}`
    const response = await api.post(path, '', { body: Buffer.from(document, 'latin1') })
    t.match(
      [response.status, await response.json()],
      [400, { error: { code: 'invalid_json', message: 'The body is not UTF-8.' } }]
    )
  }
  t.equal(upstream.requests.length, 0)
})

t.test(
  'an oversized document is named in the refusal, with its limit in the usual unit',
  async t => {
    const mebibyte = 1024 * 1024
    const { upstream, read } = await start(t, {}, { documentBytes: mebibyte, jsonBodyBytes: mebibyte })
    const answer = await read(`data:application/pdf;base64,${'A'.repeat(3 * mebibyte)}`)
    t.equal(answer.status, 413)
    t.match(await answer.json(), {
      error: { code: 'file_too_large', param: 'document', message: 'The body is larger than 2.3 MB.' }
    })
    t.equal(upstream.requests.length, 0)
  }
)

t.test('too many pages: counted here for an inline PDF, otherwise in the answer', async t => {
  const { upstream, read } = await start(t, () => ({
    pieces: [pages(...Array.from({ length: 1001 }, () => 'x'))]
  }))
  const tooMany = { error: { code: 'invalid_document', param: 'document', message: /1001 pages/ } }
  const here = await read(dataUrl(textPdf(Array.from({ length: 1001 }, () => ['x']))))
  t.equal(here.status, 400)
  t.match(await here.json(), tooMany)
  t.equal(upstream.requests.length, 0)
  const there = await read('https://example.com/long.pdf')
  t.equal(there.status, 400)
  t.match(await there.json(), tooMany)

  const most = await start(t, { pieces: [pages(...Array.from({ length: 1000 }, () => 'x'))] })
  const answer = await most.read(dataUrl(textPdf(Array.from({ length: 1000 }, () => ['x']))))
  t.equal(((await answer.json()) as OcrAnswer).pages.length, 1000, 'a thousand are read')

  const garbage = Buffer.concat([Buffer.from('%PDF-1.7\nstartxref\n'), Buffer.alloc(10_000, 7)])
  await read(dataUrl(garbage))
  t.equal(upstream.requests.length, 2, 'what cannot be counted is passed on')
})

t.test('no key waits until all documents of another key are counted', async t => {
  const upstream = await fakeUpstream({ pieces: [pages('x')] })
  t.teardown(upstream.close)
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`, 'mistral', 'mistral')],
      limits: { ...settings().limits, callMs: 60_000 }
    },
    { other: { id: 'key-2', name: 'other' } }
  )
  const document = { type: 'document_url', document_url: dataUrl(textPdf([['x']])) }
  const finished: string[] = []
  const send = async (name: string, init: RequestInit = {}): Promise<void> => {
    t.equal((await api.post(path, { document }, init)).status, 200)
    finished.push(name)
  }
  const many = Array.from({ length: 7 }, async () => await send('many'))
  await Promise.race(many)
  await Promise.all([...many, send('one', { headers: { authorization: 'Bearer other' } })])
  t.not(finished.at(-1), 'one', 'although it came last')
})

t.test('an address that turns out to be an image is requested again, once', async t => {
  const refusal =
    '{"object":"error","message":"Invalid document type. image/png is not supported.","type":"invalid_request_error","code":"3000"}'
  const { upstream, read } = await start(t, (_request, number) =>
    number === 0 ? { status: 400, pieces: [refusal] } : { pieces: [pages('x')] }
  )
  t.equal((await read('https://example.com/download?id=7')).status, 200)
  t.match(upstream.requests[1]?.json, {
    document: { type: 'image_url', image_url: 'https://example.com/download?id=7' }
  })

  const stubborn = await start(t, { status: 400, pieces: [refusal] })
  const response = await stubborn.read('https://example.com/download')
  t.equal(response.status, 400)
  t.match(await response.json(), { error: { code: 'unsupported_format', param: 'document' } })
  t.equal(stubborn.upstream.requests.length, 2)
})

t.test('provider failures are reported without the document', async t => {
  const canary = 'Q0FOQVJZ'.repeat(20)
  const rows: Array<[Script, number, object]> = [
    [
      {
        status: 400,
        pieces: [
          '{"object":"error","message":"Document is not a valid PDF.","type":"document_parser_invalid_file","code":"3740"}'
        ]
      },
      400,
      { code: 'invalid_document', message: 'Document is not a valid PDF.', param: 'document' }
    ],
    [
      {
        status: 422,
        pieces: [
          JSON.stringify({
            detail: [{ type: 'x', loc: ['body', 'document', 'document_url'], msg: 'bad', input: canary }]
          })
        ]
      },
      400,
      { code: 'invalid_document' }
    ],
    [
      {
        status: 422,
        pieces: [
          JSON.stringify({ detail: [{ type: 'x', loc: ['body', 'bbox'], msg: 'bad', input: canary }] })
        ]
      },
      502,
      { code: 'upstream_error' }
    ],
    [
      {
        status: 422,
        pieces: [JSON.stringify({ detail: [{ loc: ['body', 'document'], input: canary.repeat(1000) }] })]
      },
      400,
      { code: 'invalid_document' }
    ],
    [
      { status: 401, pieces: ['{"message":"Unauthorized","request_id":"1"}'] },
      502,
      { code: 'upstream_auth_failed' }
    ],
    [{ status: 404, pieces: ['{"detail":"Not Found"}'] }, 404, { code: 'model_not_found' }],
    [
      {
        status: 429,
        headers: { 'retry-after': '3' },
        pieces: ['{"message":"Requests rate limit exceeded"}']
      },
      429,
      { code: 'rate_limit_exceeded' }
    ],
    [
      { status: 502, headers: { 'content-type': 'text/html' }, pieces: ['<html>'] },
      502,
      { code: 'upstream_error' }
    ],
    [{ pieces: ['{"pages":"none"}'] }, 502, { code: 'upstream_invalid_response' }],
    [{ pieces: ['[]'] }, 502, { code: 'upstream_invalid_response' }]
  ]
  for (const [script, status, error] of rows) {
    const { api, read } = await start(t, script)
    const response = await read('https://example.com/a.pdf')
    t.equal(response.status, status, JSON.stringify(script).slice(0, 60))
    const text = await response.text()
    t.match(JSON.parse(text), { error })
    await until(() => api.lines.length === 1, 'one line in the log')
    t.notMatch(text + JSON.stringify(api.lines), canary)
  }
})

t.test('a caller who disconnects ends the request, and so does the deadline', async t => {
  const { upstream, api } = await start(t, { silent: true }, { callMs: 10_000 })
  const leaving = new AbortController()
  const answer = api.post(
    path,
    { document: { document_url: 'https://example.com/a.pdf' } },
    { signal: leaving.signal }
  )
  answer.catch(() => undefined)
  const seen = await upstream.request(0)
  leaving.abort()
  await seen.aborted
  await until(() => api.lines.length === 1, 'one line in the log')
  t.match(api.lines[0], { outcome: 'client_closed' })

  const short = deadline(5)
  const source = once({ signal: new AbortController().signal })
  for await (const { signal } of short(source)) {
    await new Promise(resolve => {
      signal.addEventListener('abort', resolve)
    })
    t.match(signal.reason, { code: 'timeout', status: 504 })
  }
})

t.test('a document gets two minutes, however long the provider may take', async t => {
  const upstream = await fakeUpstream({ silent: true })
  t.teardown(upstream.close)
  const long = 3_600_000
  const timeouts = {
    connectMs: long,
    firstByteMs: long,
    responseMs: long,
    idleBytesMs: long,
    idleEventsMs: long
  }
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'mistral', 'mistral', { timeouts })],
    limits: { ...settings().limits, callMs: long }
  })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let finished = false
  const answer = api.post(path, { document: { document_url: 'https://example.com/a.pdf' } }).finally(() => {
    finished = true
  })
  const seen = await upstream.request(0)
  mock.timers.tick(119_999)
  await (await api.get('/livez')).text()
  t.notOk(finished)
  mock.timers.tick(1)
  const response = await answer
  t.equal(response.status, 504)
  t.match(await response.json(), { error: { type: 'server_error', code: 'timeout' } })
  await seen.aborted
})

t.test('the sandbox makes up pages, deterministic in number and text', async t => {
  const api = await testGateway(t, {
    providers: [providerSettings('sandbox', 'sandbox')],
    limits: { ...settings().limits, callMs: 60_000 }
  })
  const read = async (bytes: Buffer, model = 'sandbox/reader'): Promise<unknown> =>
    await (await api.post(path, { model, document: { document_url: dataUrl(bytes) } })).json()
  const three = textPdf([['a'], ['b'], ['c']])
  const first = await read(three)
  t.match(first, {
    model: 'sandbox/reader',
    pages: [{ index: 0, markdown: /^# Page 1 of 3/ }, { index: 1 }, { index: 2 }]
  })
  t.same(await read(three), first)
  const second = await api.post(path, {
    model: 'sandbox/reader', document: { document_url: dataUrl(three) }, pages: '1'
  })
  t.match(await second.json(), { pages: [{ index: 1, markdown: /^# Page 2 of 3/ }] })
  t.match(await read(png), { pages: [{ markdown: /Page 1 of 1/ }] })
  t.match(await read(png, 'sandbox/echo'), { error: { code: 'model_not_found' } })

  // The official clients have no method for it, but can post to any path.
  const body = { model: 'sandbox/reader', document: { type: 'document_url', document_url: dataUrl(three) } }
  const dedalus = new Dedalus({
    baseURL: api.url,
    apiKey: testKey,
    environment: null as unknown as 'development',
    maxRetries: 0
  })
  t.same(await dedalus.post(path, { body }), first)
  const openai = new OpenAI({ baseURL: api.url, apiKey: testKey, maxRetries: 0 })
  t.same(await openai.post(path, { body }), first)
})

t.test('the local engine reads text layers, and recognises pages without one', async t => {
  const { tesseract, pdftoppm } = await localPrograms()
  const api = await testGateway(t, { providers: [providerSettings('local', 'local')] })
  const post = async (url: string): Promise<Response> =>
    await api.post(path, { model: 'local/ocr', document: { document_url: url } })
  const textOf = async (bytes: Buffer): Promise<string> => {
    // what is tested
    const { pages } = (await (await post(dataUrl(bytes))).json()) as { pages: Array<{ markdown: string }> }
    return pages.map(({ markdown }) => markdown).join('\n---\n')
  }
  const lines = ['The quick brown fox jumps', 'over the lazy dog.', 'Invoice number 48213']
  const page = textPdf([lines])
  t.match(await textOf(textPdf([lines, ['Second page']])), /quick brown fox[^]*48213[^]*---\nSecond page/)
  const one = await api.post(path, {
    model: 'local/ocr', document: { document_url: dataUrl(textPdf([lines, ['Second page']])) }, pages: [1]
  })
  t.match(await one.json(), { pages: [{ index: 1, markdown: 'Second page' }] })
  const address = await post('https://example.com/a.pdf')
  t.equal(address.status, 400)
  t.match(await address.json(), { error: { code: 'unsupported_parameter' } })
  t.equal((await post(dataUrl(Buffer.from('%PDF-1.4\nnothing')))).status, 400)
  if (tesseract === undefined || pdftoppm === undefined) {
    t.comment('tesseract-ocr and poppler-utils are not installed: nothing is recognised')
    return
  }
  const { signal } = new AbortController()
  const painted = async (kind: '-png' | '-jpeg'): Promise<Buffer> =>
    await runProgram(pdftoppm, ['-r', '192', '-gray', kind, '-singlefile', '-'], {
      input: page,
      signal,
      maxBytes: 1e8
    })
  for (const [name, bytes] of [
    ['an image', await painted('-png')],
    ['a scan', scannedPdf(await painted('-jpeg'), 1632, 2112)]
  ] as const) {
    const text = await textOf(bytes)
    for (const line of lines) t.ok(text.includes(line), `${name}: ${line}`)
  }
  await until(() => api.gateway.services.models.find('local/ocr') !== undefined, 'local/ocr to be listed')
  t.match(await (await api.get('/v1/models')).json(), { data: [{ id: 'local/ocr' }] })
  t.equal((await post(dataUrl(png))).status, 400, 'half an image')

  const leaving = new AbortController()
  const slow = runProgram(tesseract, ['stdin', 'stdout'], {
    signal: leaving.signal,
    maxBytes: 1000,
    input: await painted('-png')
  })
  leaving.abort(new Error('gone'))
  await t.rejects(slow, { message: 'gone' })
  t.same(
    readdirSync(tmpdir()).filter(name => name.startsWith('headgate-ocr-')),
    [],
    'no files are left'
  )
})
