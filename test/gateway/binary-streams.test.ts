/** A provider whose streams are binary frames, built only with `headgate/providers`. */

import t, { type Test } from 'tap'
import {
  defineProvider,
  httpTransport,
  ProviderFailure,
  type Adapter,
  type ChatEvent,
  type ChatInput,
  type StreamDecoder
} from '../../lib/public/providers.ts'
import { testGateway } from '../support/gateway.ts'
import { fakeUpstream, type Script } from '../support/upstream.ts'

type Message = ReturnType<StreamDecoder['push']>[number]

/** A frame is a four-byte length and a text. */
function frameDecoder (maxLength: number): StreamDecoder {
  let rest = Buffer.alloc(0)
  return {
    push: bytes => {
      rest = Buffer.concat([rest, bytes])
      const messages: Message[] = []
      while (rest.length >= 4) {
        const length = rest.readUInt32BE()
        if (length > maxLength) throw new Error('the frame is too large')
        if (rest.length < 4 + length) break
        messages.push({ id: undefined, event: undefined, data: rest.toString('utf8', 4, 4 + length) })
        rest = rest.subarray(4 + length)
      }
      return messages
    },
    end: () => {
      if (rest.length > 0) throw new Error('the last frame is cut')
      return []
    }
  }
}

function frame (text: string): Buffer {
  const bytes = Buffer.from(text)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

const chat: Adapter<ChatInput, ChatEvent> = {
  request: () => ({ method: 'POST', path: '/generate', headers: {}, body: '{}' }),
  read: () => {
    let begun = false
    let done = false
    return {
      as: 'events',
      decoder: frameDecoder,
      reader: {
        get isDone () { return done },
        read: ({ data }, into) => {
          if (data === 'failed') throw new ProviderFailure({ kind: 'overloaded' })
          if (!begun) into.push({ type: 'answer-start' })
          begun = true
          done = data === 'end'
          if (done) into.push({ type: 'choice-end', choice: 0, reason: 'stop' })
          else into.push({ type: 'text-delta', choice: 0, text: data })
        },
        end: () => { throw new Error('the end is missing') }
      },
      json: () => []
    }
  },
  error: () => ({ kind: 'error' })
}

/** Returns the status and the text of a streamed answer. */
async function ask (t: Test, script: Parameters<typeof fakeUpstream>[0]): Promise<[number, string]> {
  const upstream = await fakeUpstream(script)
  const transport = httpTransport({ baseUrl: upstream.url, connections: 4, connectMs: 5000 })
  const framed = defineProvider({ id: 'framed', transport, adapters: { chat } })
  const { post } = await testGateway(t, {}, {}, { providers: [framed] })
  const answer = await post('/v1/chat/completions', { model: 'framed/m', messages: 'hi', stream: true })
  const text = await answer.text()
  await upstream.close()
  await transport.close()
  return [answer.status, text]
}

function contents (text: string): string {
  return [...text.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join('')
}

const bytes = Buffer.concat([frame('héllo'), frame(' wörld'), frame('end')])

function cut (size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size))
}

for (const size of [bytes.length, 7, 1]) {
  t.test(`frames are read in pieces of ${size} bytes`, async t => {
    const [status, text] = await ask(t, { pieces: cut(size) })
    t.equal(status, 200)
    t.equal(contents(text), 'héllo wörld')
    t.match(text, /data: \[DONE\]\n\n$/)
  })
}

t.test('a failure before any output is retried', async t => {
  const scripts: Script[] = [{ pieces: [frame('failed')] }, { pieces: cut(7) }]
  const [status, text] = await ask(t, (_request, number) => scripts[number] ?? {})
  t.equal(status, 200)
  t.equal(contents(text), 'héllo wörld')
})

t.test('a truncated frame interrupts the answer, and one that is too large is invalid', async t => {
  const [status, text] = await ask(t, { pieces: [frame('a'), bytes.subarray(0, 6)] })
  t.equal(status, 200)
  t.match(text, /"code":"upstream_stream_interrupted"/)
  const [refused, error] = await ask(t, { pieces: [Buffer.alloc(8, 0x70)] })
  t.equal(refused, 502)
  t.match(error, /"code":"upstream_invalid_response"/)
})
