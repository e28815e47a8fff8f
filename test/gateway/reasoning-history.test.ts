/** Reasoning in the history is sent back to its provider as the caller received it. */

import t from 'tap'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'

const details = [
  { type: 'reasoning.text', text: 'thought', signature: 'S1', format: 'anthropic-claude-v1', index: 0 },
  { type: 'reasoning.encrypted', data: 'E1', id: 'call_1', format: 'google-gemini-v1', index: 1 }
]

t.test(
  'OpenRouter gets its reasoning details back, and other servers of the dialect do not',
  async t => {
    const upstream = await fakeUpstream({ pieces: [chatAnswer('ok')] })
    t.teardown(upstream.close)
    const kinds = [
      ['openrouter', true],
      ['mistral', false]
    ] as const
    const { post } = await testGateway(t, {
      providers: kinds.map(([kind]) => upstreamAt(`${upstream.url}/v1`, kind, kind))
    })
    for (const [kind, isSent] of kinds) {
      const history = [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: null,
          reasoning_details: details,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }]
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'seen' }
      ]
      t.equal(
        (await post('/v1/chat/completions', { model: `${kind}/some-model`, messages: history })).status,
        200,
        kind
      )
      // of the dialect
      const sent = upstream.requests.at(-1)?.json as
        { readonly messages: ReadonlyArray<Record<string, unknown>> } | undefined
      t.same(sent?.messages[1]?.['reasoning_details'], isSent ? details : undefined, kind)
    }
  }
)
