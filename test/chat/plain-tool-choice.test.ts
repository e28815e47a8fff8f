import t from 'tap'
import { allowedTools, plainToolChoice } from '../../lib/chat/plain-tool-choice.ts'

t.test('a choice in the format of the dialect is unchanged', async t => {
  for (const choice of [
    'auto',
    'none',
    'required',
    { type: 'function', function: { name: 'f' } },
    { type: 'custom', custom: { name: 'f' } },
    { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } }
  ] as const) {
    t.equal(plainToolChoice(choice as never).choice, choice)
  } // lists in the schema are not readonly
})

t.test('choices in the formats of Anthropic and MCP servers are translated', async t => {
  const named = { choice: { type: 'function', function: { name: 'f' } } }
  t.strictSame(plainToolChoice({ type: 'tool', name: 'f' }), named)
  t.strictSame(plainToolChoice({ server_label: 's', name: 'f' }), named)
  t.strictSame(plainToolChoice({ type: 'any' }), { choice: 'required' })
  t.strictSame(plainToolChoice({ type: 'auto', disable_parallel_tool_use: false }), { choice: 'auto' })
  t.strictSame(plainToolChoice({ type: 'none' }), { choice: 'none' })
})

t.test('parallel calls are disabled on request, unless no call is wanted', async t => {
  t.strictSame(plainToolChoice({ type: 'any', disable_parallel_tool_use: true }), {
    choice: 'required',
    parallel: false
  })
  // any value that a caller may send
  t.strictSame(plainToolChoice({ type: 'none', disable_parallel_tool_use: true } as never), {
    choice: 'none'
  })
})

t.test('a provider is offered only the allowed tools, in any spelling of their names', async t => {
  const allowing = (...tools: Array<Record<string, unknown>>) =>
    allowedTools(
      ['a', 'b', 'c', 'd'], { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools } }, name => name
    )
  t.same(
    allowing(
      { type: 'function', function: { name: 'a' } }, { type: 'custom', custom: { name: 'b' } },
      { type: 'function', name: 'c' }
    ),
    ['a', 'b', 'c']
  )
  t.throws(() => allowing({ type: 'function', function: { name: 'x' } }), {
    code: 'invalid_value', param: 'tool_choice.allowed_tools.tools'
  })
})
