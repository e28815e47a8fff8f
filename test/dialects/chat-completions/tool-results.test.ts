import t from 'tap'
import { textResults } from '../../../lib/dialects/chat-completions/tool-results.ts'
import type { CallerMessage } from '../../../schemas/messages.ts'

const image = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } }
const file = { type: 'file' as const, file: { file_data: 'data:application/pdf;base64,JVBE' } }
const hi: CallerMessage = { role: 'user', content: 'hi' }

function result (id: string, ...content: Array<typeof image | typeof file>): CallerMessage {
  return { role: 'tool', tool_call_id: id, content }
}

const imageNote = {
  role: 'tool', tool_call_id: 'a', content: '[image 1 of tool call a: in the next message]'
}
const fileNote = {
  role: 'tool', tool_call_id: 'b', content: '[file 1 of tool call b: in the next message]'
}
const shown = [
  { type: 'text', text: 'The image 1 of tool call a:' },
  image,
  { type: 'text', text: 'The file 1 of tool call b:' },
  file
]

t.test('images and files of tool results follow in a user message, after the last result', async t => {
  const results = [result('a', image), result('b', file)]
  const yes: CallerMessage = { role: 'assistant', content: 'yes' }
  t.strictSame(textResults([hi, ...results]).messages, [
    hi, imageNote, fileNote, { role: 'user', content: shown }
  ])
  t.strictSame(textResults([...results, yes, hi]).messages, [
    imageNote, fileNote, { role: 'user', content: shown }, yes, hi
  ])
  t.strictSame(textResults([...results, hi]).messages, [
    imageNote, fileNote, { role: 'user', content: [...shown, { type: 'text', text: 'hi' }] }
  ], 'and go before the next user message')
  t.strictSame(textResults([...results, hi]).given, [imageNote, fileNote, hi])
})

t.test('a conversation whose results are texts is the same list', async t => {
  const messages: CallerMessage[] = [
    hi,
    { role: 'tool', tool_call_id: 'a', content: 'seen' },
    { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'seen' }] }
  ]
  const read = textResults(messages)
  t.equal(read.messages, messages)
  t.equal(read.given, messages)
})
