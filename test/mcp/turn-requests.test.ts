import t from 'tap'
import { callerFunctions, withApproved, withResults, withTools } from '../../lib/mcp/turn-requests.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { OpenTools } from '../../lib/mcp/tool-servers.ts'

const own = { type: 'function', function: { name: 'own' } } as const
const offeredTool = { type: 'function', function: { name: 'srv__add' } } as const
const open: OpenTools = {
  tools: [offeredTool],
  listBytes: 0,
  errors: {},
  byName: new Map(),
  offered: [{ name: 'srv__add', serverName: 'srv', tool: { name: 'add', inputSchema: { type: 'object' } } }],
  call: async () => await Promise.reject(new Error('not called'))
}
const request = (parts: object = {}): ChatInput => ({
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  ...parts
})

t.test('functions of the caller come from tools and from the older functions field', async t => {
  t.same(
    [
      ...callerFunctions(
        request({ tools: [own, { type: 'custom', custom: { name: 'c' } }], functions: [{ name: 'f' }] })
      )
    ],
    ['own', 'c', 'f']
  )
})

t.test('server tools follow the tools of the caller', async t => {
  t.strictSame(withTools(request({ tools: [own] }), open).tools, [own, offeredTool])
  t.notOk('tools' in withTools(request(), { ...open, tools: [] }), 'no list where there is nothing in it')
})

t.test('without the tools of a failed server, the tool choice is one of the others', async t => {
  const [offered] = open.offered
  const failed: OpenTools = {
    ...open,
    byName: new Map(offered === undefined ? [] : [[offered.name, offered]]),
    errors: { gone: { message: 'no', code: 'connect' } }
  }
  const choiceOf = (tool_choice: ChatInput['tool_choice'], from = failed): unknown =>
    withTools(request({ tools: [own], tool_choice }), from).tool_choice
  const named = (name: string) => ({ type: 'function' as const, function: { name } })
  const allowed = (...names: string[]) => ({
    type: 'allowed_tools' as const,
    allowed_tools: { mode: 'required' as const, tools: names.map(named) }
  })
  t.same(choiceOf(named('search')), 'auto')
  t.same(choiceOf({ server_label: 'gone', name: 'search' }), 'auto')
  t.same(choiceOf({ type: 'tool', name: 'search' }), 'auto')
  t.same(choiceOf(allowed('search', 'own')), allowed('own'))
  t.same(choiceOf(allowed('search')), 'none')
  for (const choice of ['required' as const, named('own'), named('srv__add'), allowed('own')]) {
    t.same(choiceOf(choice), choice)
  }
  t.same(choiceOf(named('search'), { ...failed, errors: {} }), named('search'), 'the provider refuses it')
  const custom = { type: 'custom' as const, custom: { name: 'sql' } }
  const choice = { type: 'allowed_tools' as const, allowed_tools: { mode: 'auto' as const, tools: [custom] } }
  t.same(withTools(request({ tools: [custom], tool_choice: choice }), failed).tool_choice, choice)
})

t.test('calls of earlier answers are renamed to the names their tools have now', async t => {
  const call = (id: string, name: string) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: '{}' }
  })
  const calls = [
    { id: '1', serverName: 'srv', toolName: 'add' },
    { id: '2', serverName: 'gone', toolName: 'add' },
    { id: '3', serverName: 'srv', toolName: 'add' }
  ]
  const said = (...tool_calls: Array<ReturnType<typeof call>>) => ({
    role: 'assistant' as const,
    tool_calls
  })
  const messages = [
    { role: 'user' as const, content: 'hi' },
    said(call('1', 'add'), call('2', 'gone__add')),
    said(call('3', 'srv__add')),
    said(call('4', 'add'))
  ]
  const named = (parts: object) => withTools(request({ messages, ...parts }), open).messages
  const found = named({ toolApproval: { isNeeded: () => true, calls, approved: [] } })
  t.strictSame(found, [
    messages[0],
    said(call('1', 'srv__add'), call('2', 'gone__add')),
    messages[2],
    messages[3]
  ])
  t.equal(found[2], messages[2], 'errors find the item of a message that is as it was')
  t.equal(named({}), messages)
  t.equal(named({ toolApproval: { isNeeded: () => true, calls: [], approved: [] } }), messages)
})

t.test('results replace the calls that waited for approval', async t => {
  const messages = [
    {
      role: 'assistant' as const,
      tool_calls: [{ id: '1', type: 'function' as const, function: { name: 'srv__add', arguments: '{}' } }]
    },
    { role: 'tool' as const, tool_call_id: '1', content: '' }
  ]
  const finished = {
    call: { id: '1', name: 'srv__add', arguments: {}, argumentsText: '{}', extra: {} },
    outcome: { text: 'one', result: { toolName: 'add', serverName: 'srv', arguments: {}, isError: false } }
  }
  t.strictSame(withApproved(request({ messages }), [finished]).messages, [
    messages[0],
    { role: 'tool', tool_call_id: '1', content: 'one' }
  ])
  const forced = request({ messages, tool_choice: 'required' })
  t.equal(withApproved(forced, [finished]).tool_choice, 'auto', 'the model may answer now')
})

t.test(
  "a tool choice follows a renamed tool, but never overrides the caller's own tool",
  async t => {
    const chosen = (choice: object, tools: unknown[] = []) =>
      withTools(request({ tool_choice: choice, tools }), open).tool_choice
    t.strictSame(chosen({ type: 'function', function: { name: 'add' } }), {
      type: 'function',
      function: { name: 'srv__add' }
    })
    t.strictSame(chosen({ server_label: 'srv', name: 'add' }), {
      type: 'function',
      function: { name: 'srv__add' }
    })
    t.strictSame(
      chosen({
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'auto',
          tools: [
            { type: 'mcp', server_label: 'srv' },
            { type: 'mcp', server_label: 'other' }
          ]
        }
      }),
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'srv__add' } }] }
      }
    )
    t.strictSame(
      chosen({ type: 'function', function: { name: 'add' } }, [
        { type: 'function', function: { name: 'add' } }
      ]),
      { type: 'function', function: { name: 'add' } }
    )
  }
)

t.test(
  'the next turn has the answer, the results in order, and images in a separate message',
  async t => {
    const call = (id: string) => ({ id, name: 'srv__add', arguments: {}, argumentsText: '{}', extra: {} })
    const result = { toolName: 'add', serverName: 'srv', arguments: {}, isError: false }
    const said = { role: 'assistant', content: null } as const
    const next = withResults(request({ tool_choice: 'required' }), said, [
      { call: call('1'), outcome: { text: 'one', result, images: ['data:image/png;base64,AA=='] } },
      { call: call('2'), outcome: undefined }
    ])
    t.equal(next.tool_choice, 'auto')
    t.strictSame(next.messages, [
      { role: 'user', content: 'hi' },
      said,
      { role: 'tool', tool_call_id: '1', content: 'one' },
      { role: 'tool', tool_call_id: '2', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Image 1 of the result of srv__add (1):' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
        ]
      }
    ])
    t.equal(
      withResults(request(), said, [{ call: call('1'), outcome: { text: 'one', result } }]).messages.length,
      3
    )
  }
)
