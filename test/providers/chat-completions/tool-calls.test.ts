import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { readResponse } from '../../support/adapters.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import { ask,  } from '../../support/chat-completions.ts'

t.test('a deprecated call goes to callers with tools as a tool call', async t => {
  const answer = { choices: [{ message: { content: null, function_call: { name: 'f', arguments: '{}' } }, finish_reason: 'function_call' }] }
  const tools: ChatInput['tools'] = [{ type: 'function', function: { name: 'f' } }]
  t.match(readResponse(chatCompletions, answer, ask({ tools })).slice(1), [
    { type: 'tool-call-start', id: /^call_/, name: 'f', kind: 'function' }, { type: 'tool-call-delta', text: '{}' },
    { type: 'tool-call-end' }, { type: 'choice-end', reason: 'tool_calls' }
  ])
  t.match(readResponse(chatCompletions, answer, ask({ functions: [{ name: 'f' }] })).at(-1), { reason: 'function_call' })
})
