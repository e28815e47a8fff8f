/** Generates events of answers: single ones, and lists of them in any order that a provider could send. */

import fc from 'fast-check'
import type { ChatEvent } from '../../../lib/core/events.ts'

export const choice = 0
export const text = (text: string): ChatEvent => ({ type: 'text-delta', choice, text })
export const thought = (text: string): ChatEvent => ({ type: 'reasoning-delta', choice, text })
export const signed = (thinking: string, signature: string): ChatEvent => ({
  type: 'thinking-block',
  choice,
  block: { type: 'thinking', thinking, signature }
})
export const start = (
  call: number,
  id = `call_${call}`,
  name = `tool_${call}`,
  more: object = {}
): ChatEvent => ({ type: 'tool-call-start', choice, callIndex: call, id, name, kind: 'function', ...more })
export const piece = (call: number, text: string): ChatEvent => ({
  type: 'tool-call-delta',
  choice,
  callIndex: call,
  text,
  kind: 'function'
})
export const stop = (call: number): ChatEvent => ({ type: 'tool-call-end', choice, callIndex: call })
export const end = (
  reason: 'stop' | 'tool_calls' | 'length' | 'content_filter' = 'stop',
  more: object = {}
): ChatEvent => ({ type: 'choice-end', choice, reason, ...more })
export const usage: ChatEvent = {
  type: 'usage',
  usage: {
    promptTokens: 20,
    completionTokens: 5,
    totalTokens: 25,
    cachedTokens: 8,
    cacheWriteTokens: 2,
    reasoningTokens: 3
  }
}

const anyText = fc.oneof(fc.string(), fc.constant(''))
/** Calls whose pieces form an object, interleaved with each other and with everything else. */
const anyEvent: fc.Arbitrary<ChatEvent> = fc.oneof(
  anyText.map(text),
  anyText.map(thought),
  anyText.map((text): ChatEvent => ({ type: 'refusal-delta', choice, text })),
  fc.tuple(anyText, anyText).map(([thinking, signature]) => signed(thinking, signature)),
  fc
    .string()
    .map((data): ChatEvent => ({
      type: 'thinking-block',
      choice,
      block: { type: 'redacted_thinking', data }
    })),
  fc.string().map((title): ChatEvent => ({ type: 'annotation-delta', choice, annotations: [title] })),
  fc.constant<ChatEvent>({ type: 'extra', scope: 'answer', fields: { x: 1 } }),
  fc.constant<ChatEvent>({ type: 'text-delta', choice: 1, text: 'another choice' })
)

/** Answers with up to four calls, whose events are interleaved with all others. */
export const anyAnswer = fc
  .tuple(
    fc.array(
      fc.record({
        input: fc.dictionary(fc.string(), fc.jsonValue()),
        cut: fc.nat(8),
        ends: fc.boolean(),
        extra: fc.boolean()
      }),
      { maxLength: 4 }
    ),
    fc.array(anyEvent, { maxLength: 12 }),
    fc.infiniteStream(fc.nat()),
    fc.constantFrom<ChatEvent>(
      end(),
      end('tool_calls'),
      end('length'),
      end('content_filter'),
      end('stop', { stopSequence: 'x' })
    ),
    fc.option(fc.constant(usage)),
    fc.boolean()
  )
  .map(([calls, others, order, ending, used, hidesThinking]) => {
    const lists = calls.map(({ input, cut, ends, extra }, index): ChatEvent[] => {
      const json = JSON.stringify(input)
      return [
        start(index, `call ${index}`, `tool_${index}`, extra ? { extra: { sealed: index } } : {}),
        piece(index, json.slice(0, cut)),
        piece(index, json.slice(cut)),
        ...(ends ? [stop(index)] : [])
      ]
    })
    const queues = [...lists, others].map(list => [...list])
    const events: ChatEvent[] = []
    for (const number of order) {
      const left = queues.filter(queue => queue.length > 0)
      if (left.length === 0) break
      events.push(...(left[number % left.length]?.splice(0, 1) ?? []))
    }
    return { calls, events: [...events, ending, ...(used === null ? [] : [used])], hidesThinking }
  })
