import t from 'tap'
import { askLoudly } from '../../examples/own-pipeline.ts'
import { sseReader } from '../../lib/wire/sse.ts'

const question = 'is anybody there?'

async function streamedText (): Promise<string> {
  const { body } = await askLoudly(question, true, new AbortController().signal)
  const reader = sseReader(1e6)
  let text = ''
  if (typeof body === 'string' || body instanceof Uint8Array) throw new Error('not a stream')
  for await (const piece of body) {
    for (const { data } of reader.push(Buffer.from(piece))) {
      if (data === '[DONE]') return text
      const chunk = JSON.parse(data) as { choices: Array<{ delta: { content?: string } }> }
      text += chunk.choices[0]?.delta.content ?? ''
    }
  }
  throw new Error('the stream did not end')
}

t.test('a stage of one\'s own between two of ours changes streamed and whole answers alike', async t => {
  const { body } = await askLoudly(question, false, new AbortController().signal)
  if (typeof body !== 'string') throw new Error('not one text')
  const whole = JSON.parse(body) as { choices: Array<{ message: { content: string } }> }
  const text = whole.choices[0]?.message.content ?? ''
  t.match(text, /IS ANYBODY THERE\?/)
  t.equal(text, text.toUpperCase())
  t.equal(await streamedText(), text)
})
