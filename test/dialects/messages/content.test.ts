import t from 'tap'
import { otherText, partsOf, textPart } from '../../../lib/dialects/messages/content.ts'
import type { GatewayError } from '../../../lib/core/errors.ts'
import type { MessagesBlock } from '../../../schemas/messages-request.ts'

function parts (block: MessagesBlock): { readonly parts: unknown, readonly refused: GatewayError[] } {
  const refused: GatewayError[] = []
  return {
    parts: partsOf(block, 'messages.0.content.1', error => {
      refused.push(error)
    }),
    refused
  }
}

const mark = { type: 'ephemeral' } as const

t.test('a text keeps its cache mark, and an empty text is dropped', async t => {
  t.strictSame(textPart({ type: 'text', text: 'a', cache_control: mark }), [
    { type: 'text', text: 'a', cache_control: mark }
  ])
  t.strictSame(textPart({ type: 'text', text: '' }), [])
})

t.test('an image is a URL or inline data', async t => {
  t.strictSame(
    parts({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }).parts,
    [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]
  )
  t.strictSame(parts({ type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } }).parts, [
    { type: 'image_url', image_url: { url: 'https://a.example/b.png' } }
  ])
})

t.test('a document is a file, or texts with an introduction from its title and context', async t => {
  t.strictSame(
    parts({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } })
      .parts,
    [{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'document.pdf' } }]
  )
  t.strictSame(
    parts({
      type: 'document',
      title: 'A',
      context: 'of me',
      source: { type: 'text', media_type: 'text/plain', data: 'words' }
    }).parts,
    [
      { type: 'text', text: 'A\nof me' },
      { type: 'text', text: 'words' }
    ]
  )
  t.strictSame(parts({ type: 'document', source: { type: 'content', content: 'inside' } }).parts, [
    { type: 'text', text: 'inside' }
  ])
  const source = { type: 'base64' as const, media_type: 'application/pdf', data: 'JVBE' }
  t.strictSame(parts({ type: 'document', title: 'A', context: 'of me', source }).parts, [
    { type: 'text', text: 'of me' },
    { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'A' } }
  ])
})

t.test('the cache mark of a document stays on its last part', async t => {
  const words = ['a', 'b', 'c'].map(text => ({ type: 'text' as const, text }))
  const document = {
    type: 'document' as const,
    title: 'A',
    source: { type: 'content' as const, content: words }
  }
  t.strictSame(parts({ ...document, cache_control: mark }).parts, [
    { type: 'text', text: 'A' },
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
    { type: 'text', text: 'c', cache_control: mark }
  ])
})

t.test('a document at an address stays one', async t => {
  const url = 'https://a.example/b.pdf'
  t.strictSame(parts({ type: 'document', title: 'b.pdf', source: { type: 'url', url } }), {
    parts: [{ type: 'file', file: { file_data: url, filename: 'b.pdf' } }],
    refused: []
  })
})

t.test('content that cannot be translated is refused, with its place', async t => {
  const rows: ReadonlyArray<readonly [MessagesBlock, string]> = [
    [{ type: 'image', source: { type: 'file', file_id: 'f' } }, 'messages.0.content.1.source.file_id'],
    [{ type: 'document', source: { type: 'file', file_id: 'f' } }, 'messages.0.content.1.source.file_id']
  ]
  for (const [block, param] of rows) {
    t.match(parts(block), { parts: [], refused: [{ code: 'unsupported_parameter', param }] })
  }
})

t.test("blocks of Anthropic's own tools become text in requests, and nothing in answers", async t => {
  t.strictSame(parts({ type: 'tool_reference', tool_name: 'look' }).parts, [
    { type: 'text', text: 'Tool look is now available.' }
  ])
  // any block
  t.strictSame(
    otherText({ type: '*', title: 'T', content: [{ type: 'text', text: 'a' }, { url: 'x' }] } as never),
    [{ type: 'text', text: 'T\na' }]
  )
  t.strictSame(parts({ type: 'thinking', thinking: 'hm', signature: 's' }).parts, [])
})
