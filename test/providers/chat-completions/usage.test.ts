import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { readResponse } from '../../support/adapters.ts'
import { ask,  } from '../../support/chat-completions.ts'

t.test('usage that contradicts itself is at least its sum, and numbers may come as text', async t => {
  const usage = (given: object): unknown => readResponse(chatCompletions, { choices: [{ message: { content: 'a' } }], usage: given }, ask()).at(-1)
  t.match(usage({ prompt_tokens: -3, completion_tokens: 2, total_tokens: -1 }), { usage: { promptTokens: 0, completionTokens: 2, totalTokens: 2 } })
  t.match(usage({ prompt_tokens: '3', completion_tokens: '2', total_tokens: '5' }), { usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 } })
})
