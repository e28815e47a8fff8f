import t from 'tap'
import { answers, noAnswer, noAnswerCode, repairMessage, type Listing } from '../../lib/mcp/repair-message.ts'

const emptyListing = (): Listing => ({ leftOut: new Set(), bytes: 0, maxBytes: 10_000 })

function repaired (
  method: string,
  result: unknown
): { readonly result: unknown, readonly leftOut: readonly string[] } {
  const listing = emptyListing()
  const message = repairMessage({ jsonrpc: '2.0', id: 1, result }, { id: 1, method }, listing)
  return { result: Reflect.get(Object(message), 'result'), leftOut: [...listing.leftOut] }
}

const list = (...tools: unknown[]): unknown =>
  Reflect.get(Object(repaired('tools/list', { tools }).result), 'tools')
const content = (result: unknown): unknown => repaired('tools/call', result).result
const text = (text: string): object => ({ type: 'text', text })

t.test('a well-formed message is unchanged', async t => {
  for (const [method, result] of [
    [
      'tools/list',
      {
        tools: [
          {
            name: 'a',
            title: 'A',
            description: 'b',
            inputSchema: {
              type: 'object',
              properties: { p: { type: 'string' } },
              required: ['p'],
              anyOf: [{}]
            },
            annotations: { title: 'c', readOnlyHint: true },
            execution: { taskSupport: 'required' }
          }
        ],
        nextCursor: 'n',
        _meta: { a: null }
      }
    ],
    [
      'tools/call',
      {
        content: [
          text('a'),
          { type: 'image', data: 'AA', mimeType: 'image/png' },
          { type: 'resource_link', uri: 'file:///a', name: 'a' },
          { type: 'resource', resource: { uri: 'file:///a', text: 'b' } }
        ],
        structuredContent: { a: null },
        isError: true
      }
    ],
    ['tools/call', { resultType: 'input_required', inputRequests: {} }],
    [
      'initialize',
      {
        protocolVersion: '2025-06-18',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'a', version: '1' },
        instructions: 'b'
      }
    ],
    ['server/discover', { supportedVersions: ['2026-07-28'] }]
  ] as const) {
    t.strictSame(repaired(method, result), { result, leftOut: [] }, method)
  }
  const request = { jsonrpc: '2.0', id: 's', method: 'ping', params: { a: null } }
  t.equal(repairMessage(request, { id: 1, method: 'tools/call' }, emptyListing()), request)
})

t.test(
  'invalid optional members of a tool are dropped, and the tool is offered',
  async t => {
    const schema = { type: 'object', properties: {} }
    t.strictSame(
      list({
        name: 'a',
        title: null,
        description: null,
        inputSchema: null,
        outputSchema: null,
        annotations: null,
        execution: null,
        icons: null,
        _meta: null
      }),
      [{ name: 'a', inputSchema: schema }]
    )
    t.strictSame(
      list({
        name: 'a',
        description: 5,
        annotations: { readOnlyHint: 'yes', destructiveHint: false, title: null },
        icons: 'x'
      }),
      [{ name: 'a', inputSchema: schema, annotations: { destructiveHint: false } }]
    )
    t.strictSame(list({ name: 'a', input_schema: { properties: { p: null } } }), [
      { name: 'a', inputSchema: { type: 'object', properties: { p: {} } } }
    ])
    t.strictSame(
      list({ name: 'a', inputSchema: { type: null, required: null, properties: null, title: null } }),
      [{ name: 'a', inputSchema: { type: 'object' } }]
    )
    t.strictSame(list({ name: 'a', inputSchema: { type: ['object'], properties: 'x', required: 'p' } }), [
      { name: 'a', inputSchema: { type: 'object' } }
    ])
    t.strictSame(list({ name: 'a', outputSchema: { type: 'array' }, x_new: 1 }), [
      { x_new: 1, name: 'a', inputSchema: schema }
    ])
  }
)

t.test('a list is read in any form, and uncallable tools are reported', async t => {
  const tool = { name: 'a', inputSchema: { type: 'object' } }
  const { result, leftOut } = repaired('tools/list', {
    tools: [{ description: 'no name' }, tool, null, { ...tool, name: '' }, 'x'],
    nextCursor: null
  })
  t.strictSame(result, { tools: [tool] })
  t.strictSame(leftOut, ['number 1', 'number 3', 'number 4', 'number 5'])
  t.strictSame(repaired('tools/list', [tool]).result, { tools: [tool] })
  t.strictSame(repaired('tools/list', { tools: { a: { inputSchema: { type: 'object' } } } }).result, {
    tools: [tool]
  })
  t.strictSame(repaired('tools/list', { tools: [], nextCursor: 7 }).result, { tools: [], nextCursor: '7' })
  t.strictSame(repaired('tools/list', { tools: [], nextCursor: '' }).result, { tools: [] })
  t.strictSame(
    repaired('tools/list', { other: 1 }).result,
    { other: 1 },
    'what is no list is refused by the client library'
  )
})

t.test('a tool that declares an invalid header is not offered', async t => {
  const listed = (properties: object, more: object = {}): number =>
    repaired('tools/list', {
      tools: [{ name: 'a', inputSchema: { type: 'object', properties, ...more } }]
    }).leftOut.length
  const region = { type: 'string', 'x-mcp-header': 'Region' }
  const inner = { type: 'object', properties: { region } }
  for (const properties of [{ region }, { inner }, { 'x-mcp-header': { type: 'string' } }]) {
    t.equal(listed(properties), 0, JSON.stringify(properties))
  }
  for (const properties of [
    { region: { ...region, type: 'number' } },
    { region: { ...region, 'x-mcp-header': 'two words' } },
    { region: { ...region, 'x-mcp-header': 1 } },
    { region, other: { ...region, 'x-mcp-header': 'REGION' } },
    { list: { type: 'array', items: region } },
    { list: { type: 'array', items: inner } }
  ]) {
    t.equal(listed(properties), 1, JSON.stringify(properties))
  }
  t.equal(listed({}, { 'x-mcp-header': 'a' }), 1)
})

t.test('a tool result is read in any form', async t => {
  for (const given of [
    { content: [text('5')], isError: null, structuredContent: null, _meta: null },
    { content: '5' },
    { content: text('5') },
    { content: ['5'] },
    { content: [5] },
    '5',
    5,
    { toolResult: '5' },
    { content: [{ text: '5' }] },
    { content: [{ type: 'text', text: '5', annotations: null }, null] },
    { content: [{ type: 'markdown', text: '5' }] },
    { content: [], structuredContent: 5 }
  ]) {
    t.strictSame(content(given), { content: [text('5')] }, JSON.stringify(given))
  }
  t.strictSame(content({ content: [text('a')], structuredContent: [5] }), {
    content: [text('a'), text('[5]')]
  })
  t.strictSame(content({ structuredContent: { a: 1 } }), { content: [], structuredContent: { a: 1 } })
  t.strictSame(content({ content: [], isError: 'true' }), { content: [], isError: true })
  t.strictSame(content(null), { content: [] })
})

t.test('incomplete blocks are renamed or completed', async t => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64')
  t.strictSame(
    content({
      content: [
        { type: 'image', data: png },
        { type: 'audio', data: 'AAAA', mimeType: null },
        { type: 'image', data: null },
        { type: 'chart', points: [] }
      ]
    }),
    {
      content: [
        { type: 'image', data: png, mimeType: 'image/png' },
        { type: 'audio', data: 'AAAA', mimeType: 'application/octet-stream' },
        text('[image without data]'),
        text('[content of the unknown type chart]')
      ]
    }
  )
  t.strictSame(
    content({
      content: [
        { type: 'resource', resource: null },
        { type: 'resource', resource: { text: 'a', mimeType: null } },
        { type: 'resource', resource: { uri: 'u', blob: 'AA' } },
        { type: 'resource_link', uri: 'u' },
        { type: 'resource_link' }
      ]
    }),
    {
      content: [
        text('[resource without content]'),
        { type: 'resource', resource: { uri: 'unknown:', text: 'a' } },
        { type: 'resource', resource: { uri: 'u', blob: 'AA' } },
        { type: 'resource_link', uri: 'u', name: 'u' },
        text('[resource without an address]')
      ]
    }
  )
})

t.test('the id and the error of an answer are normalised to JSON-RPC', async t => {
  const request = { id: 7, method: 'tools/call' }
  const repair = (message: unknown): unknown => repairMessage(message, request, emptyListing())
  const result = { content: [] }
  for (const message of [
    { jsonrpc: '2.0', id: '7', result },
    { id: 7, result, error: null },
    { id: null, result },
    { jsonrpc: null, result }
  ]) {
    t.strictSame(repair(message), { jsonrpc: '2.0', id: 7, result })
  }
  t.strictSame(
    repair({ jsonrpc: '2.0', id: 8, result: { content: null } }),
    { jsonrpc: '2.0', id: 8, result: { content: null } },
    'of another request'
  )
  for (const [error, code, message] of [
    ['gone', -32000, 'gone'],
    [{ code: '-32602', message: 'no' }, -32602, 'no'],
    [{ message: null }, -32000, ''],
    [{ code: -32603, message: { a: 1 } }, -32603, '{"a":1}']
  ] as const) {
    t.strictSame(repair({ id: 7, error, result: null }), { jsonrpc: '2.0', id: 7, error: { code, message } })
  }
  t.equal(answers(noAnswer(request), request), true)
  t.match(noAnswer(request), { id: 7, error: { code: noAnswerCode } })
  for (const message of [{ jsonrpc: '2.0', id: 8, result }, { id: 7, method: 'ping' }, null, []]) {
    t.equal(answers(message, request), false)
  }
})

t.test('an initialize answer is completed from what the server sends', async t => {
  t.strictSame(
    repaired('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: null,
      serverInfo: null,
      instructions: null
    }).result,
    {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'unknown', version: 'unknown' }
    }
  )
  t.match(
    repaired('initialize', {
      capabilities: { tools: null, logging: {} },
      serverInfo: { name: 'a', version: 2, title: null }
    }).result,
    { capabilities: { tools: {}, logging: {} }, serverInfo: { name: 'a', version: '2' } }
  )
})
