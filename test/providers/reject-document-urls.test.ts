import t from 'tap'
import { rejectDocumentUrls } from '../../lib/providers/reject-document-urls.ts'
import type { AdapterInput } from '../../lib/providers/provider.ts'
import type { OcrInput } from '../../lib/ocr/input.ts'

// only the document matters
const ask = (document: object): AdapterInput<OcrInput> =>
  ({ request: { document }, route: {}, quirks: {}, streamed: false }) as unknown as AdapterInput<OcrInput>

t.test('inline documents pass, addresses are left to other models', async t => {
  const bytes = ask({ kind: 'bytes' })
  t.equal(rejectDocumentUrls(bytes), bytes)
  t.throws(() => rejectDocumentUrls(ask({ kind: 'address', url: 'https://example.com/' })), {
    code: 'unsupported_parameter', param: 'document', message: 'The local engine supports data URLs only.'
  })
})
