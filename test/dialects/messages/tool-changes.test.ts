import t from 'tap'
import { toolChanges, type ToolChanges } from '../../../lib/dialects/messages/tool-changes.ts'
import type { GatewayError } from '../../../lib/core/errors.ts'
import type { MessagesBlock, MessagesMessage } from '../../../schemas/messages-request.ts'

/** Returns a block that the schema allows without defining it. */
const open = (block: object): MessagesBlock => block as MessagesBlock
const addition = (tool: object): MessagesBlock => open({ type: 'tool_addition', tool })
const removal = (tool: object): MessagesBlock => open({ type: 'tool_removal', tool })
const named = (name: string): object => ({ type: 'tool_reference', name })
const defined = (definition: unknown): object => ({ type: 'tool_definition', definition })

function read (...content: MessagesBlock[]): ToolChanges & { readonly refused: readonly GatewayError[] } {
  const refused: GatewayError[] = []
  const messages: readonly MessagesMessage[] = [{ role: 'user', content: 'hi' }, { role: 'system', content }]
  return { ...toolChanges(messages, error => { refused.push(error) }), refused }
}

t.test('references in messages and in results mark tools as found', async t => {
  const { found } = read(
    { type: 'tool_reference', tool_name: 'a' },
    { type: 'tool_result', tool_use_id: 'x', content: [{ type: 'tool_reference', tool_name: 'b' }] }
  )
  t.strictSame([...found], ['a', 'b'])
})

t.test('the last change of a tool counts', async t => {
  const { found, removed } = read(
    addition(named('a')),
    removal(named('b')),
    removal(named('a')),
    addition(named('b'))
  )
  t.ok(found.has('b'))
  t.strictSame([...removed], ['a'])
})

t.test('a message may define a tool, and an invalid definition is refused', async t => {
  const look = { name: 'look', input_schema: { type: 'object' } }
  const { added, refused } = read(
    addition(defined({ ...look, description: 'Looks.' })),
    addition(defined(look)),
    addition(defined({ name: 'blind' })),
    addition(defined(7))
  )
  t.strictSame([...added], [['look', look]])
  t.match(refused, [{ param: 'messages' }, { param: 'messages' }])
  t.equal(refused.length, 2)
})

t.test("tools of Anthropic's MCP connector are ignored, as are blocks without a tool", async t => {
  const { found, removed, added, refused } = read(
    addition({ type: 'mcp_tool_reference', server_name: 's', name: 'a' }),
    removal({ type: 'mcp_toolset_reference', server_name: 's' }),
    removal(defined({ name: 'a' })),
    open({ type: 'tool_addition' })
  )
  t.same([found.size, removed.size, added.size, refused.length], [0, 0, 0, 0])
})
