import fc from 'fast-check'
import t from 'tap'
import { toCompletion } from '../../../lib/dialects/chat-completions/complete.ts'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { readTextResponse } from '../../../lib/providers/chat-completions/text-response.ts'
import { readResponse } from '../../../lib/providers/chat-completions/chat-response.ts'
import { ask } from '../../support/chat-completions.ts'
import { holds } from '../../support/property.ts'
import type { ChatEvent } from '../../../lib/core/events.ts'

const head: ChatEvent = { type: 'response-start', id: 'chatcmpl-1', model: 'x/m', createdSeconds: 7 }
const read = (value: unknown): ChatEvent[] => readResponse(value, ask())

function completionOf (events: readonly ChatEvent[]): unknown {
  return JSON.parse(JSON.stringify(toCompletion([{ events: [head, ...events.slice(1)] }])))
}

const runsIn = (events: readonly ChatEvent[] | undefined): number => events?.filter(({ type }) => type === 'text-run').length ?? 0

const response = (message: object, more: object = {}): object => ({
  id: 'a', choices: [{ index: 0, message, finish_reason: 'stop', ...more }], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
})

t.test('a text that stays as it stands in JSON gives the completion that a parsed one gives', async t => {
  const text = fc.string({ unit: fc.oneof(fc.constantFrom('"', '\\', '\n', '“', 'é', '🚀', '\u2028', '\ud800', '"content":"'), fc.string({ unit: 'grapheme', maxLength: 2 })), maxLength: 8 })
  const message = fc.record({ role: fc.constant('assistant'), content: fc.oneof(text, fc.constant(null)), refusal: fc.oneof(text, fc.constant(null)), mood: fc.string({ maxLength: 8 }), 'x"content': fc.string({ maxLength: 8 }) }, { requiredKeys: ['role'] })
  let runs = 0
  holds(t, fc.property(message, fc.boolean(), fc.boolean(), fc.boolean(), (message, isPretty, isEscaped, hasLogprobs) => {
    const wire = JSON.stringify(response(message, hasLogprobs ? { logprobs: { content: [{ token: 'a', logprob: 0, bytes: null, top_logprobs: [] }] } } : {}), null, isPretty ? 2 : 0)
    const bytes = Buffer.from(isEscaped ? wire.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`) : wire)
    const events = readTextResponse(bytes, read)
    runs += runsIn(events)
    if (events === undefined) return true // is parsed entirely
    const parsed = read(JSON.parse(bytes.toString()))
    return JSON.stringify(completionOf(events)) === JSON.stringify(completionOf(parsed)) && charactersIn(events) === charactersIn(parsed)
  }), { numRuns: 400 })
  t.ok(runs > 10, `${runs} texts stayed as they were`)
})

function charactersIn (events: readonly ChatEvent[]): number {
  return events.reduce((sum, event) => sum + (event.type === 'text-run' ? event.characters : event.type === 'text-delta' ? event.text.length : 0), 0)
}

t.test('what is not the text of a message is parsed', async t => {
  const plain = JSON.stringify(response({ role: 'assistant', content: 'Hello' }))
  const answers: ReadonlyArray<readonly [string | Buffer, string]> = [
    [plain.replace('Hello', ''), 'no text'],
    [plain.replace('"content":"Hello"', '"content":"A","content":"B"'), 'a field that comes twice'],
    [plain.replace('"role"', '"note":{"content":"A"},"role"'), 'a field of the same name elsewhere'],
    [plain.replace('Hello', 'a\nb'), 'a line break in a text'],
    [plain.replace('"id":"a"', '"id":"é"'), 'letters beyond ASCII around it'],
    [Buffer.from(plain.replace('Hello', '\u00ff'), 'latin1'), 'bytes that are not UTF-8'],
    [`\ufeff${plain}`, 'a byte order mark'],
    [plain.replace('Hello', 'a'.repeat(300_000)), 'a large one']
  ]
  for (const [bytes, why] of answers) t.equal(readTextResponse(Buffer.from(bytes), read), undefined, why)
  t.equal(runsIn(readTextResponse(Buffer.from(plain), read)), 1)
  t.throws(() => readTextResponse(Buffer.from(plain.slice(0, -1)), read), SyntaxError)
})

t.test('texts stay as they are for callers whose dialect prints them, and not for functions', async t => {
  const bytes = Buffer.from(JSON.stringify(response({ role: 'assistant', content: 'Hello' })))
  const runs = (given: Parameters<typeof ask>[0], textRuns: boolean): number => {
    const reader = chatCompletions.read({ status: 200, headers: {} }, { ...ask(given), textRuns })
    return reader.as === 'json' ? runsIn(reader.readBytes?.(bytes)) : -1
  }
  t.equal(runs({}, true), 1)
  t.equal(runs({}, false), 0)
  t.equal(runs({ functions: [{ name: 'f' }] }, true), 0)
})
