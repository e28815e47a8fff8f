import fc from 'fast-check'
import t from 'tap'
import { PrintedJson } from '../../../lib/core/reply.ts'
import { toCompletion } from '../../../lib/dialects/chat-completions/complete.ts'
import { printCompletion } from '../../../lib/dialects/chat-completions/print-completion.ts'
import { holds } from '../../support/property.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text)

/** Texts that look like what stands around them. */
const looksAlike = fc.constantFrom('', '"created":0', ',"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}', '"', '\\', 'é', '网关 🚀')
const count = fc.nat(9)
const usage = fc.record({ promptTokens: count, completionTokens: count, totalTokens: count, cachedTokens: count, reasoningTokens: count }, { requiredKeys: ['promptTokens', 'completionTokens', 'totalTokens'] })
const answer = fc.record({
  model: fc.oneof(fc.constantFrom('x/a', 'x/b'), looksAlike),
  text: fc.oneof(looksAlike, fc.string({ unit: 'grapheme' })).filter(text => text !== ''),
  choice: fc.constantFrom(0, 0, 0, 1),
  reason: fc.constantFrom('stop' as const, 'length' as const),
  createdSeconds: fc.nat(),
  usage: fc.option(usage, { nil: undefined }),
  more: fc.record({ fingerprint: looksAlike, serviceTier: fc.constantFrom('default' as const, 'flex' as const) }, { requiredKeys: [] }),
  others: fc.constantFrom<ChatEvent[]>([], [], [], [{ type: 'extra', scope: 'answer', fields: { mood: 'é' } }], [{ type: 'refusal-delta', choice: 0, text: 'no' }])
})

t.test('an answer whose text stands as in JSON is printed as its completion is, byte for byte, whatever was printed before', async t => {
  let number = 0
  holds(t, fc.property(answer, ({ model, text, choice, reason, createdSeconds, usage, more, others }) => {
    const literal = Buffer.from(JSON.stringify(text).slice(1, -1)).toString('latin1')
    const batches = (made: ChatEvent): Array<{ events: readonly ChatEvent[] }> => [
      { events: [{ type: 'response-start', id: `chatcmpl-${number++}`, model, createdSeconds, ...more }, made, ...others] },
      { events: [{ type: 'choice-end', choice, reason }, ...usage === undefined ? [] : [{ type: 'usage' as const, usage }]] }
    ]
    const printed = printCompletion(batches({ type: 'text-run', choice, literals: [literal], isAscii: isAscii(text), characters: text.length }))
    number--
    const json = printed instanceof PrintedJson ? Buffer.from(printed.json).toString() : JSON.stringify(printed)
    return json === JSON.stringify(toCompletion(batches({ type: 'text-delta', choice, text })))
  }), { numRuns: 3000 })
})
