import t from 'tap'
import fc from 'fast-check'
import { LongMessages, asTextMessage } from '../../lib/wire/long-messages.ts'
import { sseReader } from '../../lib/wire/sse.ts'
import { cut, cutSizes } from '../support/cuts.ts'

type Message = ReturnType<LongMessages['push']>[number]

function longMessages (maxBytes = 10_000): LongMessages {
  return new LongMessages(sseReader(maxBytes), maxBytes)
}

function seen (messages: readonly Message[]): unknown[] {
  return messages.map(message => 'pieces' in message ? asTextMessage(message) : message).map(({ event, data }) => [event, data])
}

t.test('any stream at any cut gives the messages that the reader of texts gives', t => {
  const part = fc.constantFrom('event: a\n', 'event: b\r\n', 'data: {"b64":"QUJD"}\n', 'data: {"ä":1}\n', 'data: {\r', 'data:{}\n', '\n', '\n\n', '\r\n', ': note\n', '\ufeff', 'id: 1\n')
  fc.assert(fc.property(fc.array(part, { maxLength: 12 }), fc.constantFrom(...cutSizes), (parts, size) => {
    const bytes = Buffer.from(parts.join(''))
    const texts = sseReader(10_000)
    const expected = seen([...texts.push(bytes), ...texts.end()])
    const long = longMessages()
    t.strictSame(seen([...cut(bytes, size).flatMap(piece => long.push(Buffer.from(piece))), ...long.end()]), expected)
  }), { numRuns: 300 })
  t.end()
})

t.test('a line of ASCII stays in the bytes it came in, and nothing else does', t => {
  const kinds = (text: string): boolean[] => longMessages().push(Buffer.from(text)).map(message => 'pieces' in message)
  t.same(kinds('data: {"a":1}\n\nevent: image.completed\ndata: {"b":2}\n\n'), [true, true])
  t.same(kinds('\ufeffdata: {}\n\ndata: {}\n\n'), [false, true], 'a byte order mark is taken off')
  t.same(kinds('data: {"a":"ä"}\n\ndata: {\ndata: }\n\ndata: {}\r\n\r\ndata: [DONE]\n\ndata: {}\n\n'), [false, false, false, false, true])
  const long = longMessages()
  const [message] = ['data: {"a', '":"', 'b"}\n', '\n'].flatMap(piece => long.push(Buffer.from(piece)))
  t.same(message !== undefined && 'pieces' in message && message.pieces.map(String), ['{"a', '":"', 'b"}'])
  t.end()
})

t.test('a message over the limit is the fault of the provider', t => {
  const long = longMessages(100)
  t.throws(() => [1, 2, 3].map(() => long.push(Buffer.from(`data: {${'x'.repeat(50)}`))), { code: 'upstream_invalid_response', message: 'The provider sent an event that is too large.' })
  t.end()
})
