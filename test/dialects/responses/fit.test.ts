import t from 'tap'
import { GatewayError } from '../../../lib/core/errors.ts'
import { fitRequest } from '../../../lib/dialects/responses/fit.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { ProviderTraits } from '../../../lib/core/provider-traits.ts'
import type { ResponsesContext } from '../../../lib/dialects/responses/input.ts'
import type { Message } from '../../../schemas/messages.ts'

const route = { providerId: 'one', model: 'm', modelId: 'one/m' }

function fit (
  request: Partial<ChatInput>,
  provider: ProviderTraits = {},
  context: Partial<ResponsesContext> = {}
): ChatInput {
  const target = { route, provider, model: undefined, account: () => '' }
  // nothing else is read
  return fitRequest({ model: 'one/m', messages: [], ...request }, target, context as ResponsesContext)
}

t.test('errors name the item from which a message was made', async t => {
  const items: Message[] = [
    { role: 'developer', content: 'a' },
    { role: 'developer', content: 'b' },
    { role: 'user', content: 'hi' },
    { role: 'developer', content: 'c' }
  ]
  const { messages, originalInput } = fit({
    messages: items,
    originalInput: {
      field: 'input', places: new Map(items.map((item, index) => [item, `input[${index}]`]))
    }
  })
  t.equal(messages.length, 2)
  t.strictSame(
    messages.map(message => originalInput?.places.get(message)),
    ['input[0]', 'input[2]']
  )
  t.strictSame(
    fit({ messages: items }).messages,
    messages,
    'also if a request does not say what its messages were made of'
  )
})

t.test('requests that the provider cannot handle are refused', async t => {
  const untranslatable = new GatewayError('unsupported_value', { message: 'input[0].type' })
  t.throws(() => fit({}, {}, { untranslatable }), { message: 'input[0].type' })
})
