import t from 'tap'
import { ValidationError } from '../../../lib/core/errors.ts'
import { chatSizes } from '../../../lib/dialects/chat-completions/sizes.ts'
import { routedCall } from '../../support/stages.ts'
import type { ChatRequest } from '../../../schemas/chat.ts'
import type { ValidCall } from '../../../lib/core/call.ts'

const check = chatSizes({ chatMessages: 3, chatParts: 4, chatTools: 2 })
const text = { type: 'text' as const, text: 'a' }
const user = { role: 'user' as const, content: 'hi' }

function call (request: Omit<ChatRequest, 'model'>): ValidCall<ChatRequest> {
  return routedCall({ model: 'm', ...request })
}

function refusal (request: Omit<ChatRequest, 'model'>): unknown {
  try {
    check(call(request))
    return undefined
  } catch (error) {
    return error instanceof ValidationError ? error.detail : error
  }
}

t.test('a list over its limit is refused, and named in the error', async t => {
  const tool = { function: { name: 'get' } }
  const tooLong = (loc: ReadonlyArray<string | number>, max: number, length: number) => [{
    loc: ['body', ...loc],
    msg: `List should have at most ${max} items after validation, not ${length}`,
    type: 'too_long',
    ctx: { field_type: 'List', max_length: max, actual_length: length }
  }]
  t.same(refusal({ messages: [user, user, user, user] }), tooLong(['messages'], 3, 4))
  t.same(refusal({ input: [user, user, user, user] }), tooLong(['input'], 3, 4))
  t.same(
    refusal({
      messages: [
        { role: 'user', content: [text, text, text] },
        { role: 'user', content: [text, text] }
      ]
    }),
    tooLong(['messages', 1, 'content'], 4, 5)
  )
  t.same(refusal({ messages: [user], tools: [tool, tool, tool] }), tooLong(['tools'], 2, 3))
  t.same(
    refusal({ messages: [user], functions: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] }),
    tooLong(['functions'], 2, 3)
  )
})

t.test('lists at their limits pass unchanged', async t => {
  const fits = call({
    messages: [user, { role: 'user', content: [text, text, text, text] }, user],
    tools: [{ function: { name: 'a' } }]
  })
  t.equal(check(fits), fits)
  t.equal(refusal({ messages: 'a text is one message' }), undefined)
})
