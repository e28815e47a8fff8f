import t from 'tap'
import { callerPlace } from '../../lib/chat/caller-place.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const [system, user, call, tool] = [
  { role: 'system', content: 's' },
  { role: 'user', content: 'u' },
  { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } },
  { type: 'function', function: { name: 'f' } }
] as const
const answer: ChatInput['messages'][number] = { role: 'assistant', tool_calls: [call] }
const request: Pick<ChatInput, 'messages' | 'tools'> = { messages: [system, user, answer], tools: [tool] }
const places = new Map<object, string>([
  [system, 'instructions'], [user, 'input[0]'], [answer, 'input[1]'], [call, 'input[2]'], [tool, 'tools[3]']
])
const fieldName = (path: string): string => path.replace('.function', '')
const originalInput = { field: 'input', places, fieldName } as const

t.test('a place has the name of the innermost object that the caller wrote', async t => {
  for (const [place, name] of [
    ['messages[2].tool_calls[0].function.arguments', 'input[2].arguments'],
    ['messages.2.tool_calls.0', 'input[2]'],
    ['messages[2].content', 'input[1].content'],
    ['messages[1].content', 'input[0].content'],
    ['messages[0].content', 'instructions'],
    ['messages[7].content', 'input'],
    ['messages', 'input'],
    ['tools[0].function.name', 'tools[3].name'],
    ['tools[1].function.name', 'tools'],
    ['temperature', 'temperature']
  ] as const) {
    t.equal(callerPlace(place, { ...request, originalInput }), name, place)
    t.equal(callerPlace(place, request), place, 'where nothing was moved')
  }
  t.equal(
    callerPlace('tools[1].function.name', { ...request, originalInput: { field: 'input', places } }),
    'tools[1].function.name',
    'a list that nothing is known of is that of the caller'
  )
})

t.test('copies in the same order have the places of their originals', async t => {
  const copied = { messages: [system, { ...user }], originalInput: { ...originalInput, positions: request } }
  t.equal(callerPlace('messages[1].content', copied), 'input[0].content')
})
