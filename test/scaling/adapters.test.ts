import t from 'tap'
import { dimensions } from './chat-bodies.ts'
import { scalesWith } from '../support/scaling.ts'
import { checkChatRules } from '../../lib/chat/rules.ts'
import { chatInput } from '../../lib/chat/input.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { providerSettings } from '../support/settings.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatRequest } from '../../schemas/chat.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import type { ValidCall } from '../../lib/core/call.ts'

const models: Readonly<Partial<Record<ProviderKind, string>>> = {
  openai: 'gpt-5', xai: 'grok-4'
}

/** Returns the input of the adapters for a body, by the same steps as in the pipeline. */
function inputOf (body: object): ChatInput {
  const call: ValidCall<ChatRequest> = {
    id: '1',
    headers: {},
    params: {},
    body: async () => undefined,
    signal: new AbortController().signal,
    receivedAtMs: 0,
    record: new CallRecord('chat'),
    key: { id: 'k', name: 'k' },
    request: { model: 'm', ...body }
  }
  return checkChatRules(chatInput(call)).request
}

t.test('the input of a chat call is made in time that is linear in its body', async t => {
  for (const { name, body, ...sizes } of dimensions) scalesWith(t, name, { input: body, run: inputOf, ...sizes })
})

for (const [kind, model] of Object.entries(models)) {
  t.test(`${kind} is asked in time that is linear in the request`, async t => {
    const provider = createProvider(
      providerSettings(kind, kind as ProviderKind), // a key of the table above
      { send: async () => await Promise.reject(new Error('nothing may be sent')) }
    )
    const { chat } = provider.adapters
    if (chat === undefined) return t.fail('no adapter')
    const route = { providerId: kind, model, modelId: `${kind}/${model}` }
    for (const { name, body, ...sizes } of dimensions) {
      scalesWith(t, name, {
        ...sizes,
        input: size => inputOf(body(size)),
        run: request => chat.request({ request, route, quirks: provider.quirks, streamed: false })
      })
    }
  })
}
