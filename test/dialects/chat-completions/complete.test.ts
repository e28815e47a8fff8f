import t from 'tap'
import { toCompletion } from '../../../lib/dialects/chat-completions/complete.ts'
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
