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

t.test("a position in the conversation is translated to the caller's request", async t => {
  t.equal(paramOf('messages[1].content[0]', {}), 'messages[1].content[0]', 'where that is the same list')
  const originalInput = { field: 'input', messages: [user], systemPromptField: 'instructions' } as const
  t.equal(paramOf('messages[1].content[0]', { originalInput }), 'input[0].content[0]')
  t.equal(paramOf('messages[0].content', { originalInput }), 'instructions')
  const added = [system, user, { role: 'user', content: 'added' }] as const
  t.equal(paramOf('messages[2].content[1]', { messages: added, originalInput }), 'input')
  t.equal(paramOf('messages[9]', { originalInput }), 'messages[9]')
})

t.test('a part of an input of the Responses API has the names of that API', async t => {
  const message: ChatInput['messages'][number] = {
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url: 'http://10.0.0.1/a.png' } },
      { type: 'file', file: { file_data: 'http://10.0.0.1/a.pdf' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } },
      { type: 'file', file: { file_id: 'file-1' } }
    ]
  }
  const named = (param: string, hasFlatParts?: true): string => paramOf(param, {
    messages: [message],
    originalInput: {
      field: 'input',
      messages: [message],
      systemPromptField: 'instructions',
      ...hasFlatParts && { hasFlatParts }
    }
  })
  for (const [chat, responses] of [
    ['content[0].image_url.url', 'content[0].image_url'],
    ['content[1].file.file_data', 'content[1].file_url'],
    ['content[2].file.file_data', 'content[2].file_data'],
    ['content[3].file.file_id', 'content[3].file_id'],
    ['content[3].type', 'content[3].type']
  ] as const) {
    t.equal(named(`messages[0].${chat}`, true), `input[0].${responses}`)
    t.equal(named(`messages[0].${chat}`), `input[0].${chat}`, 'but not in an input of chat completions')
  }
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
