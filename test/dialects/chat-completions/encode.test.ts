import t from 'tap'
import fc from 'fast-check'
import { ChunkBuilder } from '../../../lib/dialects/chat-completions/chunk.ts'
import { encodeChunks } from '../../../lib/dialects/chat-completions/encode.ts'
import { endOfStream } from '../../../lib/wire/sse-frames.ts'
import { holds } from '../../support/property.ts'
import { routedCall } from '../../support/stages.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'
import type { AnswerHead } from '../../../lib/dialects/dialect.ts'

const head = { type: 'answer-start', id: 'chatcmpl-1', model: 'x/m', createdSeconds: 7 } as const
const text = (text: string, choice = 0): ChatEvent => ({ type: 'text-delta', choice, text })

function printer (options?: NonNullable<ChatInput['stream_options']>, start: AnswerHead = head) {
  const request: ChatInput = {
    model: 'm',
    messages: [],
    ...options !== undefined && { stream_options: options }
  }
  const call = routedCall(request)
  const encoder = encodeChunks({ head: start, call, route: call.routes[0], context: undefined })
  return { print: (events: readonly ChatEvent[]) => encoder.print(events), end: () => encoder.end() }
}

const frame = (choices: unknown[], more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 7, model: 'x/m', choices, ...more })}\n\n`
const choice = (delta: object, finish: string | null = null): object => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason: finish
})

t.test('a complete stream, byte by byte', async t => {
  const print = printer()
  const all =
    print.print([head, text('a'), text('"ü\u2028\n'), text('🎈')]) +
    print.print([]) +
    print.print([
      { type: 'choice-end', choice: 0, reason: 'stop' },
      { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }
    ]) +
    print.end()
  t.equal(
    all,
    [
      frame([choice({ role: 'assistant', content: '' })]),
      frame([choice({ content: 'a' })]),
      frame([choice({ content: '"ü\u2028\n' })]),
      frame([choice({ content: '🎈' })]),
      frame([choice({}, 'stop')]),
      'data: [DONE]\n\n'
    ].join('')
  )
})

t.test('usage is a separate chunk, if requested', async t => {
  const print = printer({ include_usage: true })
  print.print([head, { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }])
  t.equal(
    print.end(),
    `${frame([], { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } })}data: [DONE]\n\n`
  )
})

t.test('pending fields are sent with the next chunk, also a text chunk', async t => {
  const print = printer()
  print.print([text('a'), text('b')])
  t.equal(
    print.print([{ type: 'extra', scope: 'answer', fields: { u: 1 } }, text('c'), text('d')]),
    frame([choice({ content: 'c' })], { u: 1 }) + frame([choice({ content: 'd' })])
  )
})

t.test('pending fields are kept while nothing is printed, and sent once', async t => {
  const print = printer()
  print.print([{ type: 'reasoning-delta', choice: 0, text: 'r' }])
  print.print([
    { type: 'extra', scope: 'answer', fields: { u: 1 } },
    { type: 'tool-result', result: { serverName: 's', toolName: 't', arguments: {}, isError: false } }
  ])
  t.equal(
    print.print([text('a'), text('b')]),
    frame([choice({ content: 'a' })], { u: 1 }) + frame([choice({ content: 'b' })])
  )
})

t.test('every batch is printed exactly as its chunks would be', async t => {
  const word = fc.constantFrom('a', ' the', 'ü', '\n"', '🎈', '漢字', '\\', '\u2028')
  const choice = fc.constantFrom(0, 0, 0, 1)
  const event: fc.Arbitrary<ChatEvent> = fc.oneof(
    fc.record({ type: fc.constant('text-delta' as const), choice, text: word }),
    fc.record({ type: fc.constant('reasoning-delta' as const), choice, text: word }),
    fc.record({
      type: fc.constant('extra' as const),
      scope: fc.constant('answer' as const),
      fields: fc.record({ u: word })
    }),
    fc.constant({
      type: 'tool-result' as const,
      result: { serverName: 's', toolName: 't', arguments: {}, isError: false }
    }),
    fc.record({ type: fc.constant('choice-end' as const), choice, reason: fc.constant('stop' as const) })
  )
  holds(
    t,
    fc.property(
      fc.array(fc.array(event, { maxLength: 6 }), { maxLength: 4 }),
      fc.constantFrom('x/m', 'x/ü'),
      (batches, model) => {
        const { print } = printer(undefined, { ...head, model })
        const chunks = new ChunkBuilder({ ...head, model }, false)
        return batches.every(
          events =>
            print(events) ===
            events
              .flatMap(event => chunks.of(event))
              .map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
              .join('')
        )
      }
    ),
    { numRuns: 500 }
  )
})

const heads: fc.Arbitrary<AnswerHead> = fc.record({
  type: fc.constant('answer-start' as const),
  // Other pipelines may set their own ids.
  id: fc.oneof(fc.stringMatching(/^chatcmpl-[\da-f]{1,8}$/), fc.string({ unit: 'binary', maxLength: 8 })),
  model: fc.constantFrom('x/m', 'x/"ü', '"content":""'),
  createdSeconds: fc.nat(),
  fingerprint: fc.constantFrom('fp_1', 'fp_"2'),
  serviceTier: fc.constantFrom('default', 'a word of its own')
}, { requiredKeys: ['type', 'id', 'model', 'createdSeconds'] })

const anyEvents: fc.Arbitrary<ChatEvent[]> = fc
  .tuple(
    fc.array(
      fc.record({
        type: fc.constant('text-delta' as const),
        choice: fc.constantFrom(0, 0, 0, 1),
        text: fc.constantFrom('a', 'ü"', '')
      }),
      { maxLength: 3 }
    ),
    fc.array(fc.constant<ChatEvent>({ type: 'extra', scope: 'answer', fields: { u: 1 } }), { maxLength: 1 }),
    fc.array(
      fc.record({
        type: fc.constant('choice-end' as const),
        choice: fc.constantFrom(0, 0, 0, 1),
        reason: fc.constantFrom('stop' as const, 'length' as const)
      }),
      { maxLength: 2 }
    ),
    fc.array(
      fc.record({
        type: fc.constant('usage' as const),
        usage: fc.record(
          {
            promptTokens: fc.nat(),
            completionTokens: fc.nat(),
            totalTokens: fc.nat(),
            cachedTokens: fc.nat()
          },
          { requiredKeys: ['promptTokens', 'completionTokens', 'totalTokens'] }
        )
      }),
      { maxLength: 1 }
    )
  )
  .map(parts => parts.flat())

t.test('a whole stream is printed exactly as its chunks would be', async t => {
  holds(
    t,
    fc.property(heads, fc.boolean(), anyEvents, (head, include_usage, events) => {
      const { print, end } = printer({ include_usage }, head)
      const chunks = new ChunkBuilder(head, include_usage)
      const printed = events.map(event => print([event])).join('') + end()
      const plain = [...events.flatMap(event => chunks.of(event)), ...chunks.end()].map(
        chunk => `data: ${JSON.stringify(chunk)}\n\n`
      )
      return printed === plain.join('') + endOfStream
    }),
    { numRuns: 1000 }
  )
})

t.test('padding hides the length of a text', async t => {
  const print = printer({ include_obfuscation: true })
  const lengths = new Set<number>()
  for (let count = 0; count < 50; count++) {
    for (const line of print.print([text('a')]).trim().split('\n\n')) {
      const chunk = JSON.parse(line.slice('data: '.length)) as { obfuscation: string }
      t.match(chunk.obfuscation, /^[\w-]{1,16}$/)
      lengths.add(chunk.obfuscation.length)
    }
  }
  t.ok(lengths.size > 5, `${lengths.size} lengths`)
})
