import t from 'tap'
import { mistralAdapters } from '../../../lib/providers/mistral/index.ts'
import { kinds } from '../../../lib/providers/kinds.ts'
import { objectsOf, type JsonObject } from '../../../lib/json/type-guards.ts'
import type { FilePart, UserPart } from '../../../schemas/messages.ts'

/** Returns the content sent for the parts of a question. */
function sent (...content: readonly UserPart[]): unknown {
  const { body } = mistralAdapters.chat.request({
    request: { model: 'mistral/m', messages: [{ role: 'user', content: [...content] }] },
    route: { providerId: 'mistral', model: 'm', modelId: 'mistral/m' },
    quirks: kinds.mistral.quirks ?? {},
    streamed: false
  })
  const { messages } = JSON.parse(String(body)) as JsonObject // as printed
  return objectsOf(messages)[0]?.['content']
}

const file = (file: FilePart['file']): FilePart => ({ type: 'file', file })
const pdf = 'data:application/pdf;base64,JVBERg=='

t.test('a file is sent as a document, or by its id', async t => {
  const text = { type: 'text' as const, text: 'Sum it up.' }
  t.same(sent(file({ file_data: pdf, filename: 'a.pdf' }), text), [
    { type: 'document_url', document_url: pdf, document_name: 'a.pdf' },
    text
  ])
  t.same(sent(file({ file_data: 'https://example.com/a.pdf' })), [
    { type: 'document_url', document_url: 'https://example.com/a.pdf' }
  ])
  t.same(sent(file({ file_id: 'f-1', filename: 'a.pdf' })), [{ type: 'file', file_id: 'f-1' }])
})

t.test('other parts are sent as they are', async t => {
  const parts: UserPart[] = [
    { type: 'text', text: 'hi' },
    { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  ]
  t.same(sent(...parts), parts)
})
