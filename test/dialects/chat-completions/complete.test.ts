import fc from 'fast-check'
import t from 'tap'
import { foldedCompletion, toCompletion } from '../../../lib/dialects/chat-completions/complete.ts'
import { holds } from '../../support/property.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

const head = { type: 'response-start', id: 'chatcmpl-1', model: 'x/m', createdSeconds: 7 } as const

t.test('all batches of an answer are one completion, compared in full', async t => {
  const batches: ReadonlyArray<{ readonly events: readonly ChatEvent[] }> = [
    { events: [head, { type: 'text-delta', choice: 0, text: 'he' }, { type: 'text-delta', choice: 1, text: 'B' }] },
    { events: [] },
    { events: [{ type: 'text-delta', choice: 0, text: 'llo' }, { type: 'choice-end', choice: 0, reason: 'stop' }, { type: 'choice-end', choice: 1, reason: 'length' }] },
    { events: [{ type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }] }
  ]
  t.strictSame(toCompletion(batches), {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 7,
    model: 'x/m',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'hello', refusal: null }, logprobs: null, finish_reason: 'stop' },
      { index: 1, message: { role: 'assistant', content: 'B', refusal: null }, logprobs: null, finish_reason: 'length' }
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
  })
})

const choice = fc.nat(2)
const events = fc.array(fc.oneof(
  fc.record({ type: fc.constant('text-delta' as const), choice, text: fc.string({ unit: 'grapheme', maxLength: 4 }) }),
  fc.record({ type: fc.constant('choice-end' as const), choice, reason: fc.constantFrom('stop' as const, 'length' as const) }),
  fc.record({
    type: fc.constant('usage' as const),
    usage: fc.record({ promptTokens: fc.nat(9), completionTokens: fc.nat(9), totalTokens: fc.nat(9), cachedTokens: fc.nat(9) }, { requiredKeys: ['promptTokens', 'completionTokens', 'totalTokens'] })
  }),
  fc.record({ type: fc.constant('refusal-delta' as const), choice, text: fc.string() })
), { maxLength: 8 })
const heads = fc.record({ fingerprint: fc.constant('fp_1'), serviceTier: fc.constant('default' as const) }, { requiredKeys: [] })

t.test('an answer is what its chunks are folded into, byte for byte', async t => {
  holds(t, fc.property(events, fc.nat(8), heads, (all, cut, more) => {
    const start = { ...head, ...more }
    const batches = [{ events: [start, ...all.slice(0, cut)] }, { events: all.slice(cut) }]
    return printed(() => toCompletion(batches)) === printed(() => foldedCompletion(start, batches))
  }), { numRuns: 500 })
})

function printed (complete: () => unknown): string {
  try {
    return JSON.stringify(complete())
  } catch (error) {
    return String(error)
  }
}
