import fc from 'fast-check'
import t from 'tap'
import { markPrompt, withoutMarks, type MarkablePrompt } from '../../lib/chat/cache-marks.ts'
import { chatCompletions } from '../../lib/dialects/chat-completions/index.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import { hasMember } from '../../lib/json/type-guards.ts'
import { holds } from '../support/property.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

const mark = { cache_control: { type: 'ephemeral' } }
const long = 'word '.repeat(1000)
const user = (content: string | object[]) => ({ role: 'user', content })
const assistant = (text: string) => ({ role: 'assistant', content: [{ type: 'text', text }] })
const tool = (name: string, parts: object = {}) => ({ name, description: long, ...parts })

t.test('cache marks go only to providers that read them, or may', async t => {
  const part = { type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }
  // a field missing from the schema
  const request = { model: 'x', messages: [{ role: 'user', content: [part] }] } as ChatInput
  const route = { providerId: 'p', model: 'm', modelId: 'p/m' }
  const marked = Object.entries(kinds).filter(([, { traits: provider = {} }]) => {
    const target = { route, provider, model: undefined, account: () => '' }
    const fitted = chatCompletions.fit?.(request, target, {})
    return JSON.stringify(fitted).includes('cache_control')
  })
  t.same(marked.map(([kind]) => kind).toSorted(), ['anthropic', 'openai-compatible', 'openrouter'])
})

t.test('marks are removed from parts and tools, and a marked tool result becomes a text again', async t => {
  const part = { type: 'text', text: 'hi' } as const
  const call = { type: 'function', function: { name: 'f' } } as const
  const plain = { role: 'user', content: [part] } as const
  const use = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } } as const
  const request = {
    model: 'm', messages: [plain, { role: 'user', content: 'x' }], tools: [call]
  } as unknown as ChatInput // the schema has mutable lists
  t.equal(withoutMarks(request), request)
  const marked = withoutMarks({
    ...request,
    // a field missing from the schema
    messages: [
      ...request.messages,
      { role: 'user', content: [{ ...part, ...mark }] },
      { role: 'assistant', content: null, tool_calls: [{ ...use, ...mark }] },
      { role: 'tool', tool_call_id: 'a', content: [{ ...part, ...mark }] }
    ] as ChatInput['messages'],
    tools: [call, { ...call, ...mark }, { ...call, function: { ...call.function, ...mark } }]
  })
  t.same(marked, {
    ...request,
    messages: [
      ...request.messages,
      plain,
      { role: 'assistant', content: null, tool_calls: [use] },
      { role: 'tool', tool_call_id: 'a', content: 'hi' }
    ],
    tools: [call, call, call]
  })
  t.equal(marked.messages[0], plain)
  t.equal(marked.tools?.[0], call)
})

t.test('tools, the system prompt and the last two user messages are marked', async t => {
  const result = [
    { type: 'tool_result', tool_use_id: 'a' },
    { type: 'text', text: '' }
  ]
  const prompt = {
    model: 'm',
    tools: [tool('a'), tool('b')],
    system: long,
    messages: [user('one'), assistant('x'), user(result), assistant('y'), user('three')]
  }
  const marked: MarkablePrompt = markPrompt(prompt, 1024)
  t.strictSame(marked, {
    model: 'm',
    tools: [prompt.tools[0], { ...tool('b'), ...mark }],
    system: [{ type: 'text', text: long, ...mark }],
    messages: [
      user('one'),
      assistant('x'),
      user([
        { type: 'tool_result', tool_use_id: 'a', ...mark },
        { type: 'text', text: '' }
      ]),
      assistant('y'),
      user([{ type: 'text', text: 'three', ...mark }])
    ]
  })
  t.equal(marked.messages[1], prompt.messages[1], 'an unmarked message is the same object')
})

t.test('the first call of a conversation is not marked, nor one with marks from its caller', async t => {
  const first = { tools: [tool('b'), tool('a')], system: long, messages: [user('one'), user('two')] }
  t.equal(markPrompt(first, 100), first)
  const second = {
    system: long,
    messages: [user('one'), assistant('x'), user([{ type: 'text', text: 'two', ...mark }])]
  }
  t.equal(markPrompt(second, 100), second)
  const whole = { ...mark, system: long, messages: [user('one'), assistant('x'), user('two')] }
  t.equal(markPrompt(whole, 100), whole, 'a mark on the request itself')
  const begun = { system: long, messages: [user('one'), assistant('x')] }
  t.equal(markPrompt(begun, 100), begun, 'an answer begun by the caller does not make it a later call')
})

t.test('a part is marked if the prompt up to its end reaches the minimum of the model', async t => {
  const of = (minTokens: number) => {
    const prompt: MarkablePrompt = {
      tools: [tool('a')],
      system: 's'.repeat(5000),
      messages: [user('t'.repeat(5000)), assistant('x'), user('two')]
    }
    const { tools, system, messages } = markPrompt(prompt, minTokens)
    return [tools, system, messages].map(part => hasMember(part, 'cache_control'))
  }
  t.same(of(1250), [true, true, true])
  t.same(of(2500), [false, true, true])
  t.same(of(3750), [false, false, true])
  t.same(of(4096), [false, false, false])
})

t.test('tools are sorted by name, and tools with deferred loading are not marked', async t => {
  const messages = [user('one'), assistant('x'), user('two')]
  const tools = [
    tool('b'),
    { mcp_server_name: 'c', type: 'mcp_toolset' },
    tool('d', { defer_loading: true }),
    tool('a')
  ]
  const marked: MarkablePrompt = markPrompt({ tools, messages }, 100)
  t.strictSame(marked.tools, [
    tool('a'),
    tool('b'),
    { mcp_server_name: 'c', type: 'mcp_toolset', ...mark },
    tool('d', { defer_loading: true })
  ])
  t.strictSame(markPrompt({ tools: tools.toReversed(), messages }, 100), marked)
  const short: MarkablePrompt = markPrompt({ tools, messages }, 100_000)
  t.strictSame(short.tools, [tool('a'), tool('b'), tools[1], tools[2]], 'also without a mark')
})

t.test('thinking and empty texts are not marked', async t => {
  const blocks = [
    { type: 'thinking', thinking: 'x' },
    { type: 'text', text: '' }
  ]
  const prompt = {
    system: [{ type: 'text', text: long }],
    messages: [user(''), assistant('x'), user(blocks)]
  }
  t.strictSame(markPrompt(prompt, 100), { ...prompt, system: [{ type: 'text', text: long, ...mark }] })
})

t.test('a prompt gets at most four marks, and nothing else is changed', t => {
  const block = fc.record({
    type: fc.constantFrom('text', 'image', 'tool_result', 'thinking', 'other'),
    text: fc.string({ maxLength: 3 })
  })
  const content = fc.oneof(fc.string(), fc.array(block, { maxLength: 3 }))
  const prompts = fc.record({
    tools: fc.array(fc.record({ name: fc.string() }), { maxLength: 3 }),
    system: content,
    messages: fc.array(fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), content }), {
      minLength: 1,
      maxLength: 6
    })
  })
  const unmarked = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value, (name, part: unknown) => (name === 'cache_control' ? undefined : part)))
  const asBlocks = (value: string | readonly object[]) =>
    typeof value === 'string' ? [{ type: 'text', text: value }] : value
  const plain = ({ tools = [], system = '', messages }: MarkablePrompt): unknown =>
    unmarked({
      tools: tools.map(each => JSON.stringify(unmarked(each))).toSorted(),
      system: asBlocks(system),
      messages: messages.map(({ role, content }) => ({ role, content: asBlocks(content) }))
    })
  holds(
    t,
    fc.property(prompts, fc.integer({ min: 0, max: 3 }), (prompt: MarkablePrompt, minTokens) => {
      const marked = markPrompt(prompt, minTokens)
      t.strictSame(plain(marked), plain(prompt))
      return (JSON.stringify(marked).match(/"cache_control":/g) ?? []).length <= 4
    })
  )
  t.end()
})
