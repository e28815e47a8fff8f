import t from 'tap'
import { callerParam } from '../../lib/providers/caller-param.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const [system, user] = [{ role: 'system', content: 's' }, { role: 'user', content: 'u' }] as const

function paramOf (param: string, request: Partial<ChatInput>, rename?: Record<string, string>): string {
  return callerParam(param, {
    request: { model: 'm', messages: [system, user], ...request },
    route: { providerId: 'a', model: 'b', modelId: 'a/b' },
    quirks: { ...rename !== undefined && { rename } },
    streamed: false
  })
}

t.test("a position in the conversation is translated to the caller's request", async t => {
  t.equal(paramOf('messages[1].content[0]', {}), 'messages[1].content[0]', 'where that is the same list')
  const originalInput = { field: 'input', messages: [user], systemPromptField: 'instructions' } as const
  t.equal(paramOf('messages[1].content[0]', { originalInput }), 'input[0].content[0]')
  t.equal(paramOf('messages[0].content', { originalInput }), 'instructions')
  const added = [system, user, { role: 'user', content: 'added' }] as const
  t.equal(paramOf('messages[2].content[1]', { messages: added, originalInput }), 'input')
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
