import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import t from 'tap'
import { localPrograms } from '../../lib/local/programs.ts'
import { readPages, UnreadableDocument } from '../../lib/local/read-pages.ts'
import { runProgram } from '../../lib/async/run-program.ts'
import { scannedPdf, textPdf } from '../support/pdf.ts'

const { signal } = new AbortController()
const found = await localPrograms()
const { tesseract, pdftoppm = '' } = found
const skip = (tesseract === undefined || pdftoppm === '') && 'tesseract or pdftoppm is not installed'
const page = textPdf([['Recognise me']])
const picture = async (kind: '-png' | '-jpeg'): Promise<Buffer> =>
  await runProgram(pdftoppm, ['-r', '192', '-gray', kind, '-singlefile', '-'], {
    input: page,
    signal,
    maxBytes: 1e8
  })

t.test('a PDF with a text layer is read without an external program', async t => {
  const texts = await readPages(textPdf([['one'], ['two']]), true, {}, { signal })
  t.same(await readPages(textPdf([['one'], ['two']]), true, {}, { signal }, [1]), [texts[1]])
  await t.rejects(
    readPages(textPdf([['one'], ['two']]), true, {}, { signal }, [1, 2]),
    { code: 'invalid_value', param: 'pages' },
    'a missing page is not an empty one'
  )
  t.same(texts.map(text => text.trim()), ['one', 'two'])
})

t.test('a page without a text layer stays empty if no program is installed', async t => {
  t.same(
    (await readPages(scannedPdf(Buffer.from('ffd8ffd9', 'hex'), 1, 1), true, {}, { signal })).map(text =>
      text.trim()
    ),
    ['']
  )
  await t.rejects(
    readPages(Buffer.from('x'), false, {}, { signal }),
    new UnreadableDocument('Images cannot be read here: tesseract is not installed.')
  )
})

t.test('anything but a PDF, too many pages or too large an image is refused', async t => {
  await t.rejects(
    readPages(Buffer.from('no pdf'), true, found, { signal }),
    new UnreadableDocument('The PDF cannot be read. Send one that is neither encrypted nor damaged.')
  )
  await t.rejects(
    readPages(textPdf(Array.from({ length: 1001 }, () => ['x'])), true, found, { signal }),
    new UnreadableDocument('The document has more than 1000 pages.')
  )
  for (const [kind, hex] of Object.entries({
    png: '89504e470d0a1a0a0000000d49484452000186a0000186a0',
    jpeg: 'ffd8ffe000104a46494600010100000100010000ffffc2001108fffffffe0301220002110103110100',
    webp: '524946460000000057454250565038580000000000000000a08601a08601'
  })) {
    await t.rejects(
      readPages(Buffer.from(hex, 'hex'), false, { tesseract: '/nowhere' }, { signal }),
      new UnreadableDocument('The image is too large.'),
      kind
    )
  }
  for (const hex of [
    'ffd8ffd9',
    'ffd8ffe000104a464946',
    'ffd8ffc0001108000000010301220002',
    '52494646000000005745425000000000'
  ]) {
    const failure = new UnreadableDocument(
      'The image cannot be read. Send a PNG, JPEG or WebP image that is not damaged.'
    )
    await t.rejects(
      readPages(Buffer.from(hex, 'hex'), false, { tesseract: '/nowhere' }, { signal }),
      failure,
      `${hex}: nothing says how large it is`
    )
  }
})

t.test('images are recognised, alone or as pages, and nothing is left on disk', { skip }, async t => {
  t.match((await readPages(await picture('-png'), false, found, { signal })).join(), /Recognise me/)
  t.match(
    (await readPages(scannedPdf(await picture('-jpeg'), 1632, 2112), true, found, { signal })).join(),
    /Recognise me/
  )
  t.same(
    readdirSync(tmpdir()).filter(name => name.startsWith('headgate-ocr-')),
    []
  )
  await t.rejects(
    readPages(Buffer.from('no image'), false, found, { signal }),
    new UnreadableDocument('The image cannot be read. Send a PNG, JPEG or WebP image that is not damaged.')
  )
})

t.test('a caller who disconnects ends the recognition with that reason', { skip }, async t => {
  const leaving = new AbortController()
  const scanned = scannedPdf(await picture('-jpeg'), 1632, 2112)
  const reading = readPages(scanned, true, found, { signal: leaving.signal })
  leaving.abort(new Error('left'))
  await t.rejects(reading, { message: 'left' })
})
