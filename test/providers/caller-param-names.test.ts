import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { withCallerParamNames } from '../../lib/providers/caller-param-names.ts'
import type { Adapter, AdapterInput } from '../../lib/providers/provider.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

const [system, user] = [{ role: 'system', content: 's' }, { role: 'user', content: 'u' }] as const

function paramOf (param: string, request: Partial<ChatInput>, rename?: Record<string, string>): unknown {
  const refusing: Adapter<ChatInput, ChatEvent> = {
    request: () => { throw new GatewayError('unsupported_parameter', { param }) },
    read: () => ({ as: 'json', read: () => [] }),
    error: () => ({ kind: 'invalid_request', param })
  }
  const ask: AdapterInput<ChatInput> = {
    request: { model: 'm', messages: [system, user], ...request },
    route: { providerId: 'a', model: 'b', modelId: 'a/b' },
    quirks: { ...rename !== undefined && { rename } },
    streamed: false
  }
  const adapter = withCallerParamNames(refusing)
  const named = adapter.error({ status: 400, headers: {}, body: undefined }, ask).param
  try {
    adapter.request(ask)
  } catch (error) {
    t.equal(
      (error as GatewayError).param,
      named,
      'a refusal of ours and one of the provider name the same place'
    )
  }
  return named
}

t.test("a position in the conversation is translated to the caller's request", async t => {
  t.equal(paramOf('messages[1].content[0]', {}), 'messages[1].content[0]', 'where that is the same list')
  const originalInput = { field: 'input', messages: [user], systemPromptField: 'instructions' } as const
  t.equal(paramOf('messages[1].content[0]', { originalInput }), 'input[0].content[0]')
  t.equal(paramOf('messages[0].content', { originalInput }), 'instructions')
  t.equal(paramOf('messages[9]', { originalInput }), 'messages[9]')
})

t.test('a field has the name under which the caller sent it', async t => {
  t.equal(paramOf('max_completion_tokens', { max_tokens: 5 }), 'max_tokens')
  t.equal(paramOf('max_tokens', { max_completion_tokens: 5 }), 'max_completion_tokens')
  t.equal(paramOf('max_tokens', { max_tokens: 5, max_completion_tokens: 5 }), 'max_tokens')
  t.equal(paramOf('theirs', {}, { ours: 'theirs' }), 'ours')
  t.equal(
    paramOf('response_format.json_schema', { callerNames: { response_format: 'text.format' } }),
    'text.format'
  )
  t.equal(paramOf('temperature', {}), 'temperature')
})
