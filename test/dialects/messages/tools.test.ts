import t from 'tap'
import { toolChoiceOf, toolsOf } from '../../../lib/dialects/messages/tools.ts'
import type { ToolChanges } from '../../../lib/dialects/messages/tool-changes.ts'
import type { GatewayError } from '../../../lib/core/errors.ts'
import type { MessagesListedTool } from '../../../schemas/messages-request.ts'

const tool = (name: string, more: object = {}) => ({
  name,
  input_schema: { type: 'object' as const, $schema: 'x' },
  ...more
})
const none: ToolChanges = { found: new Set(), removed: new Set(), added: new Map() }

t.test('a tool becomes a function with its schema and cache mark', async t => {
  const refused: GatewayError[] = []
  const { tools, names } = toolsOf(
    [tool('look', { description: 'Looks.', strict: true, cache_control: { type: 'ephemeral' } })],
    none,
    error => {
      refused.push(error)
    }
  )
  t.strictSame(tools, [
    {
      type: 'function',
      function: { name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: true },
      cache_control: { type: 'ephemeral' }
    }
  ])
  t.equal(names.size, 0)
  t.strictSame(refused, [])
})

t.test('a long name is shortened, and mapped back', async t => {
  const long = 'a'.repeat(100)
  const { tools, names } = toolsOf([tool(long)], none, () => undefined)
  const short = tools[0]?.function.name ?? ''
  t.equal(short.length, 64)
  t.equal(names.get(short), long)
  t.match(toolChoiceOf({ type: 'tool', name: long }), { choice: { function: { name: short } } })
})

t.test('a deferred tool is included once it was found, and an Anthropic-only one is refused', async t => {
  const refused: GatewayError[] = []
  // any value that a caller may send
  const given = [
    tool('a', { defer_loading: true }),
    tool('b', { defer_loading: true }),
    { type: 'web_search_20250305', name: 'web_search' } as never
  ]
  const { tools } = toolsOf(given, { ...none, found: new Set(['b']) }, error => {
    refused.push(error)
  })
  t.strictSame(
    tools.map(({ function: { name } }) => name),
    ['b']
  )
  t.match(refused, [
    {
      code: 'unsupported_parameter',
      param: 'tools[2].type',
      message: /^tools\.2: Input tag 'web_search_20250305'/
    }
  ])
})

t.test('tools removed by messages are left out, and those defined by messages are included', async t => {
  const refused: GatewayError[] = []
  const { tools } = toolsOf(
    [tool('a'), tool('b'), tool('c', { description: 'Old.' })],
    {
      found: new Set(['c', 'd']),
      removed: new Set(['a']),
      added: new Map<string, MessagesListedTool>([
        ['c', tool('c', { description: 'New.' })],
        ['d', tool('d', { defer_loading: true })],
        ['code', { type: 'code_execution_20260120', name: 'code' } as never] // from a caller
      ])
    },
    error => {
      refused.push(error)
    }
  )
  t.match(tools, [
    { function: { name: 'b' } },
    { function: { name: 'c', description: 'New.' } },
    { function: { name: 'd' } }
  ])
  t.equal(tools.length, 3)
  t.match(refused, [{ param: 'messages', message: /^messages: Input tag 'code_execution_20260120'/ }])
})

t.test('a tool choice, and whether one turn may call several tools', async t => {
  t.strictSame(toolChoiceOf(undefined), {})
  t.strictSame(toolChoiceOf({ type: 'auto' }), { choice: 'auto' })
  t.strictSame(toolChoiceOf({ type: 'any', disable_parallel_tool_use: true }), {
    choice: 'required',
    parallel: false
  })
  t.strictSame(toolChoiceOf({ type: 'none' }), { choice: 'none' })
})
