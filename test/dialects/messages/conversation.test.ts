import t from 'tap'
import { conversationOf, foundTools } from '../../../lib/dialects/messages/conversation.ts'
import type { MessagesMessage } from '../../../schemas/messages-request.ts'

const conversation = (messages: readonly MessagesMessage[], system?: string): unknown => conversationOf(system, messages, error => { throw error })

t.test('messages of one text are texts, and empty ones are left out', async t => {
  t.strictSame(conversation([{ role: 'user', content: 'hi' }, { role: 'assistant', content: [] }, { role: 'assistant', content: [{ type: 'text', text: 'yes' }] }], 'Help.'), [
    { role: 'system', content: 'Help.' }, { role: 'user', content: 'hi' }, { role: 'assistant', content: 'yes' }
  ])
})

t.test('a system message between calls and their results comes behind these', async t => {
  t.strictSame(conversation([
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
    { role: 'system', content: 'Take care.' },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'seen' }] }
  ]), [
    { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'a', content: 'seen' },
    { role: 'system', content: 'Take care.' }
  ])
  t.strictSame(conversation([
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] }, { role: 'system', content: 'Take care.' }
  ]), [
    { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }] },
    { role: 'system', content: 'Take care.' }
  ], 'also where no result follows')
})

t.test('an error of a tool says so, once', async t => {
  const result = (content: string): unknown => conversation([{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true, content }] }])
  t.strictSame(result('gone'), [{ role: 'tool', tool_call_id: 'a', content: 'Error: gone' }])
  t.strictSame(result('error: gone'), [{ role: 'tool', tool_call_id: 'a', content: 'error: gone' }])
})

t.test('the line that only Anthropic reads is left out', async t => {
  t.strictSame(conversation([{ role: 'user', content: 'hi' }], 'x-anthropic-billing-header: cc_version=2'), [{ role: 'user', content: 'hi' }])
})

t.test('tools are found by references, in messages and in results', async t => {
  t.strictSame([...foundTools([
    { role: 'user', content: 'find' },
    { role: 'user', content: [{ type: 'tool_reference', tool_name: 'a' }, { type: 'tool_result', tool_use_id: 'x', content: [{ type: 'tool_reference', tool_name: 'b' }] }] }
  ])], ['a', 'b'])
})
