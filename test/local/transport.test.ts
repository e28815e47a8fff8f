import t from 'tap'
import { localTransport } from '../../lib/local/transport.ts'
import { textPdf } from '../support/pdf.ts'
import { settings } from '../support/settings.ts'
import type { SendOptions } from '../../lib/providers/provider.ts'

const transport = localTransport()
const timeouts = { connectMs: 1, firstByteMs: 1, responseMs: 1, idleBytesMs: 1, idleEventsMs: 1 }
const sending: SendOptions = {
  signal: new AbortController().signal,
  credential: {},
  timeouts,
  streamed: false
}
const answer = async (path: string, body: unknown): Promise<unknown> => {
  const {
    status,
    headers,
    body: bytes
  } = await transport.send({ method: 'POST', path, headers: {}, body: JSON.stringify(body) }, sending)
  return [
    status,
    headers['content-type'],
    JSON.parse((await bytes.buffer(settings().limits.answerBytes)).toString())
  ]
}

t.test("a document is read in Mistral's dialect", async t => {
  const document_url = `data:application/pdf;base64,${textPdf([['Hello']]).toString('base64')}`
  const [status, type, value] = (await answer('/ocr', {
    document: { type: 'document_url', document_url }
  })) as [number, string, { pages: Array<{ markdown: string }> }]
  t.strictSame([status, type], [200, 'application/json'])
  t.strictSame(
    { ...value, pages: value.pages.map(page => ({ ...page, markdown: page.markdown.trim() })) },
    { pages: [{ index: 0, markdown: 'Hello' }], model: 'ocr' }
  )
})

t.test('an unreadable or missing document is refused in that dialect', async t => {
  t.strictSame(await answer('/ocr', { document: { document_url: 'data:application/pdf;base64,AAAA' } }), [
    400,
    'application/json',
    {
      object: 'error',
      message: 'The PDF cannot be read. Send one that is neither encrypted nor damaged.',
      type: 'invalid_document'
    }
  ])
  t.strictSame(await answer('/ocr', {}), [
    400,
    'application/json',
    { message: 'The request has no document.' }
  ])
  t.strictSame(await answer('/chat/completions', {}), [
    404,
    'application/json',
    { message: 'Not found.', code: 'not_found' }
  ])
})
