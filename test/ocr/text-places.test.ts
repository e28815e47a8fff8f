import t from 'tap'
import { replaceDocumentAddress, replacePageTexts } from '../../lib/ocr/text-places.ts'
import type { OcrInput } from '../../lib/ocr/input.ts'

const replace = (text: string): string => text.replaceAll('Zoë', '(a name)')

t.test('the address of a document is text, its bytes are not', async t => {
  const request: OcrInput = { document: { kind: 'address', url: 'https://x.example/Zoë', isImage: false } }
  t.match(replaceDocumentAddress(request, replace), {
    document: { kind: 'address', url: 'https://x.example/(a name)', isImage: false }
  })
  t.equal(
    replaceDocumentAddress(request, text => text),
    request
  )
  const bytes: OcrInput = {
    document: { kind: 'bytes', mediaType: 'application/pdf', bytes: Buffer.from('Zoë') }
  }
  t.equal(replaceDocumentAddress(bytes, replace), bytes)
})

t.test('pages are text', async t => {
  const event = {
    type: 'result',
    result: {
      pages: [
        { index: 0, markdown: 'of Zoë' },
        { index: 1, markdown: 'x' }
      ]
    }
  } as const
  const other = replacePageTexts(event, replace)
  t.same(other.result.pages, [{ index: 0, markdown: 'of (a name)' }, { index: 1, markdown: 'x' }])
  t.equal(other.result.pages[1], event.result.pages[1])
  t.equal(replacePageTexts(event, text => text), event)
})
