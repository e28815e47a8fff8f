import t from 'tap'
import { documentType, readDocument } from '../../lib/ocr/document.ts'

const { signal } = new AbortController()
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const dataUrl = (bytes: Buffer, head = 'data:image/png;base64,'): string => head + bytes.toString('base64')
const read = async (text: string | Buffer, maxBytes = 1_000_000) => await readDocument(text, maxBytes, signal)

t.test('an https address is passed on; its extension says whether it is an image', async t => {
  t.strictSame(await read('https://Example.com/a.pdf?x=1'), {
    kind: 'address',
    url: 'https://example.com/a.pdf?x=1',
    isImage: false
  })
  t.match(await read('https://example.com/scan.JPEG?page=2'), { isImage: true })
})

t.test('a forbidden address is refused', async t => {
  const rows = [
    ['http://example.com/a.pdf', 'The document must be an https URL or a data URL.'],
    ['nonsense', 'The document must be an https URL or a data URL.'],
    ['https://user:pass@example.com/', 'The URL of the document must not contain credentials.'],
    [`https://example.com/${'a'.repeat(8200)}`, 'The URL of the document is too long.']
  ] as const
  for (const [url, message] of rows) {
    await t.rejects(read(url), { code: 'invalid_value', param: 'document', message })
  }
  await t.rejects(read(Buffer.from('https://example.com/')), {
    message: 'The URL of the document is too long.'
  })
})

t.test('bytes are decoded, and their format is recognised from the first of them', async t => {
  const given = await read(dataUrl(png, 'DATA:application/pdf;x="y";base64,'))
  t.match(given, { kind: 'bytes', mediaType: 'image/png' })
  t.same(given.kind === 'bytes' && given.bytes, png)
  t.equal(documentType(Buffer.from(`${'x'.repeat(1000)}%PDF-1.7`)), 'application/pdf')
  t.equal(
    documentType(Buffer.from(`${'x'.repeat(1020)}%PDF-1.7`)),
    undefined,
    'not beyond the first kilobyte'
  )
})

t.test('a large document is decoded in pieces, exactly, into memory shared with a worker', async t => {
  const bytes = Buffer.concat([png, Buffer.from(Array.from({ length: 700_001 }, (_, index) => index % 251))])
  const large = Buffer.from(dataUrl(bytes))
  const given = await read(large, 10_000_000)
  t.ok(given.kind === 'bytes' && given.bytes.equals(bytes))
  t.ok(given.kind === 'bytes' && given.bytes.buffer instanceof SharedArrayBuffer)
})

t.test('broken data URLs, unknown formats and oversized documents are refused', async t => {
  await t.rejects(read('data:image/png,abc'), {
    code: 'invalid_value',
    message: 'A data URL must contain base64: `data:application/pdf;base64,…`.'
  })
  for (const broken of [
    `${dataUrl(png)}!`,
    'data:image/png;base64,',
    `data:image/png;base64,${png.toString('base64').slice(0, 8)}*${png.toString('base64').slice(9)}`
  ]) {
    await t.rejects(
      read(broken),
      { code: 'invalid_value', message: 'The data URL is not valid base64.' },
      broken
    )
  }
  await t.rejects(read(dataUrl(Buffer.from('GIF89a'))), {
    code: 'unsupported_format',
    message: 'The document is neither PDF nor PNG, JPEG or WebP.'
  })
  await t.rejects(read(dataUrl(png), png.length - 1), { code: 'file_too_large', param: 'document' })
  t.match(await read(dataUrl(png), png.length), { kind: 'bytes' })
})

t.test('a caller who disconnects ends the decoding', async t => {
  const leaving = new AbortController()
  const decoding = readDocument(
    dataUrl(Buffer.concat([png, Buffer.alloc(1_000_000)])),
    10_000_000,
    leaving.signal
  )
  leaving.abort(new Error('left'))
  await t.rejects(decoding, { message: 'left' })
})
