import t from 'tap'
import { chatUses } from '../../lib/chat/provider-uses.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

/** Returns what a conversation with one user message refers to at a provider, with the field of each. */
function usesOf (part: object, more: Partial<ChatInput> = {}): string[] {
  return chatUses({ model: 'm', messages: [{ role: 'user', content: [part as never] }], ...more }).map(
    ({ kind, param }) => `${kind} ${param}`
  )
}

t.test('references to objects in a provider account are listed with their place', async t => {
  const text = { type: 'text', text: 'see https://example.com/file_id' }
  t.same(usesOf(text), [])
  t.same(usesOf({ type: 'file', file: { file_data: 'JVBERi0=', filename: 'a.pdf' } }), [])
  t.same(
    usesOf({ type: 'file', file: { file_id: null, file_data: 'data:application/pdf;base64,JVBERi0=' } }),
    []
  )
  t.same(usesOf({ type: 'file', file: { file_id: 'file-1' } }), [
    'object messages[0].content[0].file.file_id'
  ])
  t.same(usesOf({ ...text, document_id: 'd1' }), ['object messages[0].content[0].document_id'])
  t.same(usesOf(text, { cached_content: 'cachedContents/1' }), ['object cached_content'])
  t.same(usesOf(text, { audio: { format: 'wav', voice: { id: 'voice_1' } } }), ['object audio.voice'])
  t.same(usesOf(text, { audio: { format: 'wav', voice: 'alloy' } }), [])
  t.same(usesOf(text, { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }), [
    'object messages[0].audio'
  ])
})

t.test('URLs of media are listed, inline media are not', async t => {
  const image = (url: string): string[] => usesOf({ type: 'image_url', image_url: { url } })
  t.same(image('data:image/png;base64,AAAA'), [])
  t.same(image('https://example.com/a.png'), ['address messages[0].content[0].image_url.url'])
  t.same(image('gs://bucket/a.png'), ['address messages[0].content[0].image_url.url'])
  t.same(usesOf({ type: 'file', file: { file_data: '//example.com/a.pdf' } }), [
    'address messages[0].content[0].file.file_data'
  ])
})
