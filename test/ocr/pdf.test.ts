import { deflateSync } from 'node:zlib'
import t from 'tap'
import { countPages, pageTexts } from '../../lib/ocr/pdf.ts'
import { deflatedPdf, scannedPdf, textPdf } from '../support/pdf.ts'

const { signal } = new AbortController()
const two = textPdf([['Hello', 'World'], ['Page (two)']])

t.test('pages are counted and their text layer is read, in order', async t => {
  t.equal(await countPages(two, 'a', signal), 2)
  const texts = await pageTexts(two, 'a', signal)
  t.same(texts?.map(text => text.replaceAll(/\s+/g, ' ').trim()), ['Hello World', 'Page (two)'])
})

t.test('a page that is only an image has no text', async t => {
  t.same(
    (await pageTexts(scannedPdf(Buffer.from('ffd8ffd9', 'hex'), 1, 1), 'a', signal))?.map(text =>
      text.trim()
    ),
    ['']
  )
})

t.test('an unreadable document has no known pages', async t => {
  const broken = Buffer.from(two)
  broken.fill(0x20, 20, broken.length - 40)
  t.equal(
    await countPages(Buffer.from('%PDF-1.4\nnothing'), 'a', signal),
    undefined,
    'without a table of contents it is not even tried'
  )
  t.equal(await countPages(Buffer.from('startxref'), 'a', signal), undefined)
  t.equal(await pageTexts(Buffer.from('no pdf'), 'a', signal), undefined)
})

t.test('a document is decompressed outside this process', async t => {
  const content = deflateSync(Buffer.alloc(200_000_000, ' '))
  const bomb = deflatedPdf(content)
  const before = process.memoryUsage.rss()
  let most = before
  const look = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 20)
  t.teardown(() => clearInterval(look))
  t.same((await pageTexts(bomb, 'a', signal))?.map(text => text.trim()) ?? [''], [''])
  t.ok(most - before < 64_000_000, `${most - before} bytes more`)
})

t.test('a large text is parsed in slices', async t => {
  const parse = t.capture(JSON, 'parse', JSON.parse)
  const pages = Array.from({ length: 400 }, () => Array.from({ length: 20 }, () => 'x '.repeat(20)))
  const texts = await pageTexts(textPdf(pages), 'a', signal)
  t.ok((texts?.join('').length ?? 0) >= 300_000)
  t.ok(Math.max(...parse().map(({ args: [text] }) => text.length)) < 200_000)
})

t.test('a caller who disconnects ends the process, or prevents its start', async t => {
  const leaving = new AbortController()
  const counting = countPages(two, 'a', leaving.signal)
  leaving.abort(new Error('left'))
  await t.rejects(counting, { message: 'left' })
  await t.rejects(pageTexts(two, 'a', leaving.signal), { message: 'left' })
  t.equal(await countPages(two, 'a', signal), 2, 'its place is free again')
})
