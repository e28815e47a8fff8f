import t from 'tap'
import { dimensions } from './chat-bodies.ts'
import { scalesWith } from '../support/scaling.ts'
import { checkChatRules } from '../../lib/chat/rules.ts'
import { chatInput } from '../../lib/dialects/chat-completions/input.ts'
import { createProvider } from '../../lib/providers/index.ts'
import { providerSettings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ProviderKind } from '../../schemas/providers.ts'

/** Returns the adapters' input for a body, by the same steps as in the pipeline. */
export function inputOf (body: object): ChatInput {
  return checkChatRules(chatInput(routedCall({ model: 'm', ...body }))).request
}

/** Doubles each dimension of a chat request for the adapter of one kind. */
export function adapterScales (kind: ProviderKind, model: string): void {
  t.test(`${kind}: a request is translated in time linear in its size`, async t => {
    const provider = createProvider(
      providerSettings(kind, kind),
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
