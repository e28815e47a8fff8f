import t from 'tap'
import { chatCompletions } from '../../../lib/providers/chat-completions/index.ts'
import { GatewayError } from '../../../lib/core/errors.ts'
import { readResponse } from '../../support/adapters.ts'
import { ask } from '../../support/chat-completions.ts'

t.test('a complete answer gives the events of the equivalent stream', async t => {
  const complete = {
    id: 'chatcmpl-A1',
    service_tier: 'default',
    system_fingerprint: 'fp_1',
    choices: [{
      index: 0,
      message: {
        role: 'assistant', content: 'Hello', refusal: null, reasoning_content: 'hm', mood: 'calm',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
      },
      finish_reason: 'stop'
    }],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }
  }
  t.same(readResponse(chatCompletions, complete, ask()), [
    { type: 'answer-start', fingerprint: 'fp_1', serviceTier: 'default' },
    { type: 'extra', scope: 'message', choice: 0, fields: { mood: 'calm' } },
    { type: 'reasoning-delta', choice: 0, text: 'hm' },
    { type: 'text-delta', choice: 0, text: 'Hello' },
    { type: 'tool-call-start', choice: 0, callIndex: 0, id: 'a', name: 'f', kind: 'function' },
    { type: 'tool-call-delta', choice: 0, callIndex: 0, text: '{}', kind: 'function' },
    { type: 'tool-call-end', choice: 0, callIndex: 0 },
    { type: 'choice-end', choice: 0, reason: 'tool_calls' },
    { type: 'usage', usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } }
  ])
  for (const bad of [
    {},
    { choices: [] },
    { choices: 'no' },
    [],
    'text',
    null,
    { error: 'no' },
    { code: 'The service is currently unavailable', error: 'x' }
  ]) {
    t.throws(() => readResponse(chatCompletions, bad, ask()), GatewayError, JSON.stringify(bad))
  }
})
