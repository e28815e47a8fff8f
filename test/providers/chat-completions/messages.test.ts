import t from 'tap'
import { wireConversation } from '../../../lib/providers/chat-completions/messages.ts'
import { objectsOf } from '../../../lib/json/type-guards.ts'
import { kinds } from '../../../lib/providers/kinds.ts'
import type { ChatInput } from '../../../lib/chat/input.ts'
import type { Quirks } from '../../../lib/core/provider-traits.ts'
import type { AssistantMessage, ToolCall, UserMessage } from '../../../schemas/messages.ts'
import { body, refusal, streamed, text } from '../../support/chat-completions.ts'

t.test('fields of other providers are removed from the history', async t => {
  const history = [
    {
      role: 'assistant' as const,
      content: null,
      refusal: null,
      reasoning_content: 'hm',
      thinking_blocks: [{}],
      tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }]
    },
    { role: 'tool' as const, content: 'ok', tool_call_id: 'a' }
  ]
  t.same(body({ messages: history })['messages'], [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
    },
    { role: 'tool', content: 'ok', tool_call_id: 'a' }
  ])
  t.match(body({ messages: history }, { keepInHistory: ['reasoning_content'] })['messages'], [
    { reasoning_content: 'hm' }
  ])
  const file: UserMessage = {
    role: 'user', content: [{ type: 'file', file: { file_data: 'https://e.example/a.pdf' } }]
  }
  t.match(
    refusal(() => body({ messages: [file] })),
    { code: 'unsupported_parameter', param: 'messages[0].content[0].file.file_data', message: /base64/ },
    'a file at an address, which no such server fetches'
  )
  t.same(body({ messages: [file] }, { fileUrls: true })['messages'], [file])
  const image = (url: string): UserMessage => ({
    role: 'user',
    content: [{ type: 'image_url', image_url: { url } }]
  })
  for (const url of ['file:///etc/passwd', 'ftp://x/y', '/etc/passwd', 'data:text/html;base64,AA']) {
    t.match(
      refusal(() => body({ messages: [image(url)] })),
      { status: 400, param: 'messages[0].content[0].image_url.url' },
      url
    )
  }
  t.ok(body({ messages: [image('https://example.com/a.png'), image('data:image/png;base64,AA')] }))
})

t.test('fields of other providers are removed from tool calls in the history', async t => {
  const call = { id: 'a', type: 'function' as const, function: { name: 'f', arguments: '{}' } }
  const custom = { id: 'b', type: 'custom' as const, custom: { name: 'g', input: 'x' } }
  const more = { index: 0, extra_content: { google: { thought_signature: 's' } } }
  // as callers may send them
  const turn = (...calls: object[]): AssistantMessage => ({
    role: 'assistant',
    content: null,
    tool_calls: calls as ToolCall[]
  })
  const sent = (quirks: Quirks, ...calls: object[]): unknown =>
    body({ messages: [turn(...calls)] }, quirks)['messages']
  const full = { ...call, ...more, function: { ...call.function, parsed_arguments: {} } }
  t.strictSame(
    sent(
      {},
      full,
      { ...custom, ...more, custom: { ...custom.custom, format: null } },
      { ...call, custom: custom.custom, extra_content: null }
    ),
    [turn(call, custom, call)]
  )
  t.strictSame(sent({}, { ...more, id: 'a', function: call.function }), [turn(call)], 'without a type')
  const keeping = { keepInHistory: ['extra_content'] }
  t.strictSame(sent(keeping, full, { ...call, extra_content: null }), [
    turn({ ...call, extra_content: more.extra_content }, call)
  ])
  t.strictSame(kinds['openai-compatible'].quirks?.keepInHistory, keeping.keepInHistory, 'it may be Gemini')

  const calls = [call, custom]
  const [same] = wireConversation([turn(...calls)], {}) as [AssistantMessage] // the same
  t.ok(same.tool_calls?.every((kept, at) => kept === calls[at]), 'others are not copied')
  const kept = turn({ ...call, extra_content: {} })
  // as above
  t.equal((wireConversation([kept], keeping) as [AssistantMessage])[0].tool_calls, kept.tool_calls)
  const [mixed] = wireConversation([turn(call, full)], {}) as [AssistantMessage] // as above
  t.equal(mixed.tool_calls?.[0], call)
})

t.test('turns that have neither content nor calls are left out', async t => {
  const user = { role: 'user' as const, content: 'hi' }
  const thought = { role: 'assistant' as const, reasoning_content: 'hm', thinking_blocks: [{}] }
  t.strictSame(
    body({
      messages: [
        user,
        thought,
        { role: 'assistant', content: null },
        { ...thought, content: [], tool_calls: [] },
        user
      ]
    })['messages'],
    [user, user]
  )
  t.strictSame(
    body({ messages: [thought, user] }, { keepInHistory: ['reasoning_content'] })['messages'],
    [user],
    'reasoning alone is none'
  )
  const rest = [
    { role: 'assistant' as const, content: '' },
    { role: 'assistant' as const, refusal: 'No.' },
    { role: 'assistant' as const, audio: { id: 'a' } },
    { role: 'assistant' as const, function_call: { name: 'f', arguments: '{}' } }
  ]
  t.strictSame(body({ messages: rest }, { legacyFunctions: true })['messages'], rest)
})

t.test('developer messages become system messages for servers that do not know the role', async t => {
  const messages = [
    { role: 'developer' as const, content: 'Help.' },
    { role: 'user' as const, content: 'hi' }
  ]
  t.strictSame(body({ messages })['messages'], [{ role: 'system', content: 'Help.' }, messages[1]])
  t.strictSame(body({ messages }, { developerRole: true })['messages'], messages)
})

t.test('names are left out where a server refuses them', async t => {
  const names = (quirks: Quirks): unknown[] => {
    const messages: ChatInput['messages'] = [
      { role: 'developer', content: 'a', name: 'guide' },
      { role: 'system', content: 'a', name: 'guide' },
      { role: 'user', content: 'b', name: 'ada' },
      { role: 'assistant', content: 'c', name: 'bot' },
      { role: 'function', content: 'd', name: 'look' }
    ]
    const sent = body({ messages }, { ...quirks, legacyFunctions: true })
    return objectsOf(sent['messages']).map(({ name }) => name)
  }
  t.same(names({}), ['guide', 'guide', 'ada', 'bot', 'look'])
  t.same(names({ messageNames: 'all' }), names({}))
  t.same(names({ messageNames: 'user' }), [undefined, undefined, 'ada', undefined, 'look'])
  t.same(names({ messageNames: 'none' }), [undefined, undefined, undefined, undefined, 'look'])
})

t.test('a refusal is text of the turn for servers that do not know refusals', async t => {
  const calls = [{ id: 'a', type: 'function' as const, function: { name: 'f', arguments: '{}' } }]
  const messages: ChatInput['messages'] = [
    { role: 'assistant', content: null, refusal: 'No.' },
    { role: 'assistant', content: 'Well. ', refusal: 'No.', tool_calls: calls },
    { role: 'assistant', content: [{ type: 'text', text: 'Well. ' }, { type: 'refusal', refusal: 'No.' }] },
    { role: 'assistant', content: 'Yes.', refusal: null },
    { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] }
  ]
  t.strictSame(body({ messages }, { refusals: false })['messages'], [
    { role: 'assistant', content: 'No.' },
    { role: 'assistant', content: 'Well. No.', tool_calls: calls },
    { role: 'assistant', content: 'Well. No.' },
    { role: 'assistant', content: 'Yes.' },
    { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] }
  ])
  t.match(body({ messages })['messages'], [{ content: null, refusal: 'No.' }])
})

t.test('empty messages are skipped, and a quoted end is recognised', async t => {
  const expected = streamed(text)
  for (const nothing of ['null', '42', '[]', '""', '', '"ping"', 'true']) {
    t.same(streamed(`data: ${nothing}\n\n${text}data: ${nothing}\n\n`), expected, nothing)
  }
  t.same(streamed(`${text}data: "[DONE]"\n\ndata: {"error":"late"}\n\n`), expected)
})

t.test(
  'an assistant turn is inserted between tool results and a user message where a server requires it',
  async t => {
    const messages: ChatInput['messages'] = [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'k', type: 'function', function: { name: 'f', arguments: '{}' } }]
      },
      { role: 'tool', tool_call_id: 'k', content: 'b' },
      { role: 'user', content: 'c' },
      { role: 'user', content: 'd' }
    ]
    const roles = (quirks: Quirks): unknown =>
      (body({ messages }, quirks)['messages'] as Array<{ role: string }>).map(({ role }) => role)
    t.same(roles({ userAfterTool: false }), ['user', 'assistant', 'tool', 'assistant', 'user', 'user'])
    t.same(roles({}), ['user', 'assistant', 'tool', 'user', 'user'])
  }
)

t.test('the texts of a list are joined for servers that take only a text, for every role', async t => {
  const texts = [{ type: 'text' as const, text: 'a' }, { type: 'text' as const, text: 'b' }]
  const messages: ChatInput['messages'] = [
    { role: 'developer', content: texts },
    { role: 'user', content: texts },
    {
      role: 'assistant',
      content: [...texts, { type: 'refusal', refusal: 'c' }],
      tool_calls: [{ id: 'k', type: 'function', function: { name: 'f', arguments: '{}' } }]
    },
    { role: 'tool', tool_call_id: 'k', content: texts },
    { role: 'user', content: [{ type: 'text', text: 'a' }, image] },
    { role: 'user', content: 'c' }
  ]
  const contents = (quirks: Quirks): unknown =>
    (body({ messages }, quirks)['messages'] as Array<{ content: unknown }>).map(({ content }) => content)
  t.same(contents({ contentLists: false }), [
    'a\n\nb',
    'a\n\nb',
    'abc',
    'a\n\nb',
    [{ type: 'text', text: 'a' }, image],
    'c'
  ])
  t.same(contents({}), messages.map(({ content }) => content))
})

t.test('texts with thinking between them or with phases are one text, unless one has a mark', async t => {
  const order = { turn_order: ['text', 'thinking', 'text'] }
  const sentWith = (fields: object, parts: ReadonlyArray<{ type: 'text', text: string }>): unknown => {
    const messages: ChatInput['messages'] = [{ role: 'assistant', content: [...parts], ...fields }]
    return body({ messages }, {})['messages']
  }
  const sent = (...parts: ReadonlyArray<{ type: 'text', text: string }>): unknown => sentWith(order, parts)
  const [one, two] = [{ type: 'text', text: 'one' }, { type: 'text', text: 'two' }] as const
  const marked = { ...two, cache_control: { type: 'ephemeral' } }
  t.strictSame(sent(one, two), [{ role: 'assistant', content: 'onetwo' }])
  const phases = { text_phases: ['commentary', 'final_answer'] }
  t.strictSame(sentWith(phases, [one, two]), [{ role: 'assistant', content: 'onetwo' }])
  t.strictSame(sent(one, marked), [{ role: 'assistant', content: [one, marked] }])
})

const image = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } }

t.test('a tool call id that is too long is replaced, consistently in the call and its result', async t => {
  const idsOf = (id: string): unknown => {
    const messages: ChatInput['messages'] = [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }]
      },
      { role: 'tool', tool_call_id: id, content: 'b' }
    ]
    const [call, result] = body({ messages }, { maxToolCallIdLength: 40 })['messages'] as Array<{
      tool_calls?: Array<{ id: string }>
      tool_call_id?: string
    }>
    t.equal(call?.tool_calls?.[0]?.id, result?.tool_call_id)
    return result?.tool_call_id
  }
  t.equal(idsOf('a'.repeat(40)), 'a'.repeat(40))
  t.match(idsOf('chatcmpl-tool-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'), /^call_[0-9a-f]{35}$/)
  t.not(idsOf('a'.repeat(41)), idsOf('b'.repeat(41)))
})

t.test('what callers send as `turn_order` changes no message, and an empty turn is not sent', async t => {
  const texts = [{ type: 'text' as const, text: 'a' }, { type: 'text' as const, text: 'b' }]
  const refused = [...texts, { type: 'refusal' as const, refusal: 'no' }]
  const given = [
    { role: 'user' as const, turn_order: { x: 1 }, content: texts },
    { role: 'user' as const, turn_order: ['text'], content: texts },
    { role: 'assistant' as const, turn_order: null, content: texts },
    { role: 'assistant' as const, turn_order: ['text'], content: refused }
  ]
  const sent = body({ messages: given })['messages'] as Array<{ content: unknown }>
  t.same(sent.map(({ content }) => content), given.map(({ content }) => content))
  const empty = [
    { role: 'user' as const, content: 'a' },
    { role: 'assistant' as const, content: [], reasoning_content: 'r', turn_order: ['text'] }
  ]
  for (const quirks of [{}, { contentLists: false }]) {
    t.same(body({ messages: empty }, quirks)['messages'], [{ role: 'user', content: 'a' }])
  }
})
