import t from 'tap'
import fc from 'fast-check'
import { ChunkBuilder } from '../../../lib/dialects/chat-completions/chunk.ts'
import { encodeChunks } from '../../../lib/dialects/chat-completions/encode.ts'
import { streamFrames } from '../../../lib/dialects/chat-completions/stream-frames.ts'
import { endOfStream } from '../../../lib/wire/sse.ts'
import { holds } from '../../support/property.ts'
import { routedCall } from '../../support/stages.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import type { AnswerHead } from '../../../lib/dialects/dialect.ts'

const head = { type: 'response-start', id: 'chatcmpl-1', model: 'x/m', createdSeconds: 7 } as const

const heads: fc.Arbitrary<AnswerHead> = fc.record({
  type: fc.constant('response-start' as const),
  // Pipelines of others may have ids of their own.
  id: fc.oneof(fc.stringMatching(/^chatcmpl-[\da-f]{1,8}$/), fc.string({ unit: 'binary', maxLength: 8 })),
  model: fc.constantFrom('x/m', 'x/"ü', 'choices'),
  createdSeconds: fc.nat(),
  fingerprint: fc.constantFrom('fp_1', 'fp_"2'),
  serviceTier: fc.constantFrom('default', 'a word of its own')
}, { requiredKeys: ['type', 'id', 'model', 'createdSeconds'] })

const events: fc.Arbitrary<ChatEvent[]> = fc.tuple(
  fc.array(fc.record({ type: fc.constant('text-delta' as const), choice: fc.constantFrom(0, 0, 0, 1), text: fc.constantFrom('a', 'ü"', '') }), { maxLength: 3 }),
  fc.array(fc.constant<ChatEvent>({ type: 'extra', scope: 'answer', fields: { u: 1 } }), { maxLength: 1 }),
  fc.array(fc.record({ type: fc.constant('choice-end' as const), choice: fc.constantFrom(0, 0, 0, 1), reason: fc.constantFrom('stop' as const, 'length' as const) }), { maxLength: 2 }),
  fc.array(fc.record({ type: fc.constant('usage' as const), usage: fc.record({ promptTokens: fc.nat(), completionTokens: fc.nat(), totalTokens: fc.nat(), cachedTokens: fc.nat() }, { requiredKeys: ['promptTokens', 'completionTokens', 'totalTokens'] }) }), { maxLength: 1 })
).map(parts => parts.flat())

t.test('a stream is printed as its chunks are, whatever the streams of its model before it were', async t => {
  holds(t, fc.property(heads, fc.boolean(), events, (head, include_usage, events) => {
    const request: ChatInput = { model: 'm', messages: [], stream_options: { include_usage } }
    const call = routedCall(request)
    const printer = encodeChunks({ head, call, route: call.routes[0], context: undefined })
    const chunks = new ChunkBuilder(head, include_usage)
    const printed = events.map(event => Buffer.from(printer.print([event])).toString()).join('') + printer.end()
    const plain = [...events.flatMap(event => chunks.of(event)), ...chunks.end()].map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
    return printed === plain.join('') + endOfStream
  }), { numRuns: 1000 })
})

t.test('streams that begin alike have the same frames', async t => {
  const frames = streamFrames(head, true)
  t.equal(streamFrames({ ...head, id: 'chatcmpl-2', createdSeconds: 8 }, true), frames)
  t.not(streamFrames({ ...head, fingerprint: 'fp_1' }, true), frames)
  t.not(streamFrames({ ...head, model: 'x/n' }, true), frames)
  t.not(streamFrames(head, false), streamFrames(head, true))
})
