import t from 'tap'
import { Approvals } from '../../../lib/dialects/responses/approvals.ts'
import { readItems } from '../../../lib/dialects/responses/items.ts'
import { packReasoning } from '../../../lib/dialects/responses/reasoning-state.ts'
import { SentNames } from '../../../lib/dialects/responses/sent-names.ts'
import type { InputItem } from '../../../schemas/response-items.ts'

const read = (items: readonly InputItem[], earlier?: readonly InputItem[]): unknown =>
  readItems(items, new SentNames(), new Approvals([]), earlier).messages
const call = (id: string): InputItem => ({
  type: 'function_call',
  call_id: id,
  name: 'look',
  arguments: '{}'
})
const output = (id: string, text: string): InputItem => ({
  type: 'function_call_output',
  call_id: id,
  output: text
})
const said = (text: string): InputItem => ({ type: 'message', role: 'assistant', content: text })

t.test('consecutive items of the model become one message, followed by their results', async t => {
  t.strictSame(
    read([
      { role: 'user', content: 'hi' },
      said('Let me see.'),
      call('a'),
      call('b'),
      output('b', '2'),
      output('a', '1'),
      said('Done.')
    ]),
    [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Let me see.' }],
        tool_calls: ['a', 'b'].map(id => ({
          id,
          type: 'function',
          function: { name: 'look', arguments: '{}' }
        }))
      },
      { role: 'tool', tool_call_id: 'b', content: '2' },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] }
    ]
  )
})

t.test('calls that callers executed themselves become function calls with outputs', async t => {
  const ran = (id: string, name: string, input: object, content: string): unknown[] => [
    {
      role: 'assistant',
      tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }]
    },
    { role: 'tool', tool_call_id: id, content }
  ]
  const [exec, shell, operation] = [
    { type: 'exec', command: ['ls'], env: {} },
    { commands: ['ls'] },
    { type: 'delete_file', path: 'a' }
  ]
  const items: unknown[] = [
    { type: 'local_shell_call', id: 'lsh_1', call_id: 'a', action: exec, status: 'completed' },
    { type: 'local_shell_call_output', id: 'o_1', call_id: 'a', output: 'one file' },
    { type: 'shell_call', call_id: 'b', action: shell },
    { type: 'apply_patch_call', call_id: 'c', operation, status: 'completed' },
    { type: 'shell_call_output', call_id: 'b', output: [{ stdout: 'two', stderr: '' }] },
    { type: 'apply_patch_call_output', call_id: 'c', status: 'failed' },
    // records, an output without a call, and a call without an output
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    { type: 'shell_call_output', call_id: 'x', output: [] },
    { type: 'shell_call', call_id: 'd', action: shell }
  ]
  t.strictSame(read(items as InputItem[]), [ // they match its schema, which does not have their extra fields
    ...ran('a', 'local_shell', exec, 'one file'),
    ...ran('b', 'shell', shell, '[{"stdout":"two","stderr":""}]'),
    ...ran('c', 'apply_patch', operation, 'failed')
  ])
})

t.test('encrypted reasoning is sent with its id even in a translated request', async t => {
  t.match(
    read([
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
      said('ok'),
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'hga1.account.gBBB' }
    ]),
    [
      {
        thinking_blocks: [
          { type: 'redacted_thinking', data: 'oai1:rs_1:gAAA' },
          { type: 'redacted_thinking', data: 'oai1:rs_2:hga1.account.gBBB' }
        ]
      }
    ]
  )
})

t.test('reasoning belongs to the turn that it came from', async t => {
  const block = { type: 'thinking', thinking: 'hm', signature: 's' } as const
  const packed = packReasoning({ model: 'one/m', blocks: [block], callFields: { extra: 1 } })
  t.match(
    read([
      {
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'a' },
          { type: 'summary_text', text: 'b' }
        ],
        encrypted_content: packed
      },
      call('a'),
      output('a', '1')
    ]),
    [
      {
        role: 'assistant',
        reasoning_content: 'a\n\nb',
        thinking_blocks: [block],
        tool_calls: [{ id: 'a', extra: 1 }]
      },
      {}
    ]
  )
  const content = ['c', 'd'].map(text => ({ type: 'reasoning_text', text }))
  t.match(
    read([{ type: 'reasoning', summary: [], content }, call('a'), output('a', '1')]),
    [{ reasoning_content: 'c\n\nd', tool_calls: [{ id: 'a' }] }, {}],
    'as text, without a summary'
  )
})

t.test('texts keep their phases', async t => {
  t.match(
    read([
      said('a'),
      { type: 'message', role: 'assistant', content: 'b', phase: 'commentary' },
      call('a'),
      output('a', '1'),
      { type: 'message', role: 'assistant', content: 'c', phase: 'final_answer' }
    ]),
    [
      { content: [{ text: 'a' }, { text: 'b' }], text_phases: [null, 'commentary'] },
      { role: 'tool' },
      { content: [{ text: 'c' }], text_phases: ['final_answer'] }
    ]
  )
  t.notOk('text_phases' in Object(Object(read([said('a')]))[0]))
})

t.test('images in results come after all results, which refer to them', async t => {
  const result = (output: Extract<InputItem, { type: 'function_call_output' }>['output']): InputItem => ({
    type: 'function_call_output',
    call_id: 'a',
    output
  })
  const image = { type: 'input_image', image_url: 'https://a.example/b.png' } as const
  t.strictSame((read([call('a'), call('b'), result([image]), output('b', '2')]) as unknown[]).slice(1), [
    { role: 'tool', tool_call_id: 'a', content: '[image 1 of tool call a: in the next message]' },
    { role: 'tool', tool_call_id: 'b', content: '2' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'The image 1 of tool call a:' },
        { type: 'image_url', image_url: { url: 'https://a.example/b.png' } }
      ]
    }
  ])
  t.strictSame((read([call('a'), result([])]) as unknown[])[1], {
    role: 'tool',
    tool_call_id: 'a',
    content: ''
  })
})

t.test(
  'items between calls and results come after the last result, or join the turn of the calls',
  async t => {
    const user: InputItem = { role: 'user', content: 'Also this.' }
    const developer: InputItem = { role: 'developer', content: 'Be brief.' }
    const turn = (...ids: string[]): object => ({
      role: 'assistant',
      tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } }))
    })
    const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: id })
    for (const item of [user, developer, { role: 'system', content: 'Be brief.' } as const]) {
      t.strictSame(read([user, call('a'), item, output('a', 'a')]), [user, turn('a'), result('a'), item])
      t.strictSame(
        read([item, output('a', 'a')], [call('a')]),
        [turn('a'), result('a'), item],
        'the call may be in the continued conversation'
      )
    }
    t.strictSame(
      read([
        call('a'),
        call('b'),
        output('a', 'a'),
        user,
        developer,
        output('b', 'b'),
        user,
        call('c'),
        output('c', 'c')
      ]),
      [turn('a', 'b'), result('a'), result('b'), user, developer, user, turn('c'), result('c')]
    )
    const text = { content: [{ type: 'text', text: 'One is there.' }] }
    t.strictSame(read([call('a'), call('b'), output('a', 'a'), said('One is there.'), output('b', 'b')]), [
      { ...turn('a', 'b'), ...text },
      result('a'),
      result('b')
    ])
    t.strictSame(
      read([call('a'), user, call('b'), output('b', 'b'), call('c'), output('c', 'c'), output('a', 'a')]),
      [turn('a', 'b', 'c'), result('b'), result('c'), result('a'), user]
    )
    const image = { type: 'input_image', image_url: 'https://a.example/b.png' } as const
    t.match(read([call('a'), user, { type: 'function_call_output', call_id: 'a', output: [image] }]), [
      turn('a'),
      { role: 'tool' },
      { role: 'user', content: [{}, { type: 'image_url' }] },
      user
    ])
    const replayed: InputItem = {
      type: 'mcp_call',
      id: 'mcp_1',
      server_label: 'mine',
      name: 'look',
      arguments: '{}',
      output: 'mcp_1'
    }
    t.strictSame(read([call('a'), replayed, user, output('a', 'a')]), [
      turn('a', 'mcp_1'),
      result('mcp_1'),
      result('a'),
      user
    ])
    t.throws(
      () => read([call('a'), user]),
      { code: 'invalid_value', message: /function call a \(`input\[0\]`\)/ },
      'a call without its result is still refused'
    )
  }
)

t.test('an error names the original item of a moved message', async t => {
  const { messages, places } = readItems(
    [call('a'), { role: 'user', content: 'Also this.' }, output('a', 'a')],
    new SentNames(),
    new Approvals([])
  )
  t.strictSame(
    messages.map(message => places.get(message)),
    ['input[0]', 'input[2]', 'input[1]']
  )
  const said = readItems([{ role: 'assistant', content: 'Hi.' }], new SentNames(), new Approvals([]))
  t.strictSame([...said.places.values()], ['input[0]', 'input[0].content'])
})

t.test(
  'a call without its result, and a result without its call, are refused with their places',
  async t => {
    t.throws(() => read([{ role: 'user', content: 'hi' }, call('a')]), {
      code: 'invalid_value',
      message: /function call a \(`input\[1\]`\)/
    })
    t.throws(() => read([output('a', '1')]), {
      code: 'invalid_value',
      message: /call_id a \(`input\[0\]`\)/
    })
    t.match(
      read([output('a', '1')], [call('a')]),
      [{ role: 'assistant' }, { role: 'tool', tool_call_id: 'a' }],
      'the call may be in the continued conversation'
    )
  }
)

t.test('calls of MCP servers have distinct names that every provider accepts', async t => {
  const names = new SentNames()
  names.add({ name: 'look', kind: 'function' })
  const item = (server: string, name: string, id: string): InputItem => ({
    type: 'mcp_call',
    id,
    server_label: server,
    name,
    arguments: '{}',
    output: 'x'
  })
  const long = 'x'.repeat(100)
  const { messages, serverCalls } = readItems(
    [
      item('a', 'files.read', '1'),
      item('a', 'files.read', '2'),
      item('a', long, '3'),
      item('b', 'look', '4'),
      item('a', 'same', '5'),
      item('b', 'same', '6'),
      call('7'),
      output('7', 'x')
    ],
    names,
    new Approvals([])
  )
  const called = messages
    .flatMap(message => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
    .map(call => ('function' in call ? call.function.name : ''))
  t.match(called, [
    'files_read',
    'files_read',
    /^x{55}_[0-9a-f]{8}$/,
    'b__look',
    'a__same',
    'b__same',
    'look'
  ])
  t.match(serverCalls, [
    { id: '1', serverName: 'a', toolName: 'files.read' },
    { id: '2' },
    { id: '3', toolName: long },
    { id: '4' },
    { id: '5' },
    { id: '6' }
  ])
  t.equal(serverCalls.length, 6)
})

t.test('an approval request counts once, and of several answers to it a refusal wins', async t => {
  const approvals = new Approvals([
    { type: 'mcp', server_label: 'mine', server_url: 'https://a.example/mcp' }
  ])
  const request: InputItem = {
    type: 'mcp_approval_request',
    id: approvals.idFor('mine', 'look', '{}'),
    server_label: 'mine',
    name: 'look',
    arguments: '{}'
  }
  const answer = (approve: boolean): InputItem => ({
    type: 'mcp_approval_response',
    approval_request_id: request.id,
    approve
  })
  const read = (
    items: readonly InputItem[],
    earlier?: readonly InputItem[]
  ): { readonly approved: number, readonly messages: number } => {
    const { approved, messages } = readItems(items, new SentNames(), approvals, earlier)
    return { approved: approved.length, messages: messages.length }
  }
  const once = { approved: 1, messages: 2 }
  t.strictSame(read([request, answer(true)]), once)
  t.strictSame(read([request, request, answer(true)]), once)
  t.strictSame(read([request, answer(true), { ...request, arguments: '{"other":1}' }]), once)
  t.strictSame(read([request, answer(true), request, answer(true)]), once)
  t.strictSame(
    read([request, answer(true)], [request]),
    once,
    'also in the continued conversation'
  )
  for (const answers of [
    [true, false],
    [false, true]
  ]) {
    t.strictSame(read([request, ...answers.map(answer)]), { approved: 0, messages: 2 })
  }
})

t.test('parts that no other provider accepts are refused', async t => {
  const rows: ReadonlyArray<readonly [InputItem, string]> = [
    [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }, 'input[0].content[0].file_id'],
    [{ role: 'user', content: [{ type: 'input_file', filename: 'b.pdf' }] }, 'input[0].content[0]'],
    [
      { role: 'system', content: [{ type: 'input_image', image_url: 'https://a.example/b.png' }] },
      'input[0].content[0].type'
    ]
  ]
  for (const [item, param] of rows) {
    t.match(
      t.throws(() => read([item])),
      { param }
    )
  }
  t.match(read([{ role: 'user', content: [{ type: 'input_file', file_url: 'https://a.example/b.pdf' }] }]), [
    { content: [{ type: 'file', file: { file_data: 'https://a.example/b.pdf' } }] }
  ])
  t.match(
    read([{ role: 'user', content: [{ type: 'input_file', file_data: 'JVBE', filename: 'a.pdf' }] }]),
    [
      {
        content: [
          { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE', filename: 'a.pdf' } }
        ]
      }
    ]
  )
  t.match(
    read([{ role: 'user', content: [{ type: 'input_file', file_data: 'aGk=', filename: 'notes.txt' }] }]),
    [{ content: [{ type: 'file', file: { file_data: 'aGk=', filename: 'notes.txt' } }] }]
  )
})
