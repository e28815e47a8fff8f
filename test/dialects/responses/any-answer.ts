/** Generates lists of events that providers and tool loops could send for one answer. */

import fc from 'fast-check'
import type { ChatEvent } from '../../../lib/core/events.ts'

const text = fc.string({ unit: 'binary', maxLength: 8 })
const choice = fc.constant(0)
export const usage: ChatEvent = {
  type: 'usage',
  usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5, cachedTokens: 1 }
}

/** Cited pages as in chat completions, and anything else that a server may send. */
const annotation = fc.oneof(
  fc.record({
    type: fc.constant('url_citation'),
    url_citation: fc.record({ url: text, title: text, start_index: fc.nat(9), end_index: fc.nat(9) })
  }),
  fc.record({ url: text }),
  fc.jsonValue({ maxDepth: 2 })
)

const delta: fc.Arbitrary<ChatEvent> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('text-delta' as const), choice, text }) },
  fc.record({ type: fc.constant('reasoning-delta' as const), choice, text }),
  fc.record({ type: fc.constant('refusal-delta' as const), choice, text }),
  fc.record({
    type: fc.constant('thinking-block' as const),
    choice,
    block: fc.record({ type: fc.constant('thinking' as const), thinking: text, signature: text })
  }),
  fc.record({
    type: fc.constant('annotation-delta' as const),
    choice,
    annotations: fc.array(annotation, { minLength: 1, maxLength: 2 })
  }),
  fc.record({
    type: fc.constant('tool-result' as const),
    result: fc.record({
      toolName: text,
      serverName: text,
      arguments: fc.constant({}),
      isError: fc.boolean(),
      result: text
    })
  }),
  fc.record({
    type: fc.constant('tools-listed' as const),
    serverName: text,
    tools: fc.array(fc.record({ name: text, inputSchema: fc.constant({}) }), { maxLength: 2 })
  }),
  fc.record({
    type: fc.constant('tool-approval-needed' as const),
    serverName: text,
    toolName: text,
    arguments: fc.constant({})
  }),
  fc.record({
    type: fc.constant('tool-servers-failed' as const),
    errors: fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.record({ message: text }))
  })
)

/** Calls whose pieces are interleaved, as sent by providers that write several at once. */
const calls: fc.Arbitrary<ChatEvent[]> = fc
  .array(
    fc.record({
      name: fc.constantFrom('a', 'b'),
      pieces: fc.array(text, { maxLength: 3 }),
      ends: fc.boolean(),
      signed: fc.boolean()
    }),
    { maxLength: 3 }
  )
  .chain(list => {
    const starts = list.map(({ name, signed }, call): ChatEvent => ({
      type: 'tool-call-start',
      choice: 0,
      callIndex: call,
      id: `call_${call}`,
      name,
      kind: 'function',
      ...signed && { extra: { signature: 's' } }
    }))
    const pieces = list.flatMap(({ pieces: texts }, call) =>
      texts.map((piece): ChatEvent => ({
        type: 'tool-call-delta',
        choice: 0,
        callIndex: call,
        text: piece,
        kind: 'function'
      }))
    )
    const ends = list.flatMap(({ ends: given }, call): ChatEvent[] =>
      given ? [{ type: 'tool-call-end', choice: 0, callIndex: call }] : []
    )
    return fc
      .shuffledSubarray(pieces, { minLength: pieces.length })
      .map(shuffled => [...starts, ...shuffled, ...ends])
  })

/** Answers with interleaved calls. */
export const anyAnswer = fc
  .tuple(
    fc.array(delta, { maxLength: 6 }),
    calls,
    fc.array(delta, { maxLength: 3 }),
    fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter')
  )
  .map(([before, middle, after, reason]): ChatEvent[] => [
    ...before,
    ...middle,
    ...after,
    { type: 'choice-end', choice: 0, reason },
    usage
  ])
