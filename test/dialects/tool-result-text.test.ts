import t from 'tap'
import { toolResultText } from '../../lib/dialects/tool-result-text.ts'
import type { UserPart } from '../../schemas/messages.ts'

const text = (text: string): UserPart => ({ type: 'text', text })

t.test('a result is its text, with a note for each image or file', async t => {
  const image: UserPart = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } }
  const file: UserPart = { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE' } }
  const shown: UserPart[] = []
  t.equal(
    toolResultText('a', [text('Two:'), image, file], shown),
    'Two:\n[image 1 of tool call a: in the next message]\n[file 2 of tool call a: in the next message]'
  )
  t.strictSame(shown, [text('The image 1 of tool call a:'), image, text('The file 2 of tool call a:'), file])
})

t.test('an empty result is an empty text', async t => {
  const shown: UserPart[] = []
  t.equal(toolResultText('a', [], shown), '')
  t.strictSame(shown, [])
})
