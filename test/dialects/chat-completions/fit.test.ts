import t from 'tap'
import { fitRequest } from '../../../lib/dialects/chat-completions/fit.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { ProviderTraits } from '../../../lib/core/provider-traits.ts'

const route = { providerId: 'one', model: 'm', modelId: 'one/m' }

function fit (request: Partial<ChatInput>, provider: ProviderTraits = {}): ChatInput {
  return fitRequest(
    { model: 'one/m', messages: [], ...request },
    { route, provider, model: undefined, account: () => '' }
  )
}

t.test('a response format is refused by name where the provider has its own field for it', async t => {
  for (const type of ['text', 'json_object'] as const) {
    t.throws(() => fit({ response_format: { type } }, { answerFormat: 'generation_config' }), {
      code: 'unsupported_parameter',
      param: 'response_format'
    })
    t.same(fit({ response_format: { type } }).response_format, { type })
  }
})

t.test('cache marks go only to providers that may read them', async t => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const content = [{ type: 'text' as const, text: 'a', ...mark }]
  const messages: ChatInput['messages'] = [{ role: 'user', content }]
  t.notMatch(JSON.stringify(fit({ messages })), /cache_control/)
  t.same(fit({ messages }, { cacheMarks: 'in_chat' }).messages, messages)
})
