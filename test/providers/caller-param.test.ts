import t from 'tap'
import { callerParam } from '../../lib/providers/caller-param.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const [system, user] = [{ role: 'system', content: 's' }, { role: 'user', content: 'u' }] as const

function paramOf (param: string, request: Partial<ChatInput>, rename?: Record<string, string>): string {
  return callerParam(param, {
    request: { model: 'm', messages: [system, user], ...request },
    quirks: { ...rename !== undefined && { rename } }
  })
}

t.test("a place in the conversation is named as in the caller's request", async t => {
  t.equal(paramOf('messages[1].content[0]', {}), 'messages[1].content[0]', 'where that is the same list')
  const originalInput = { field: 'input', places: new Map([[user, 'input[0]']]) } as const
  t.equal(paramOf('messages[1].content[0]', { originalInput }), 'input[0].content[0]')
  t.equal(paramOf('messages', { originalInput }), 'input')
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
  t.equal(
    paramOf('tool_choice.allowed_tools', { callerNames: { 'tool_choice.allowed_tools': 'tool_choice.tools' } }),
    'tool_choice.tools'
  )
  t.equal(paramOf('temperature', {}), 'temperature')
})
