import t from 'tap'
import { SentNames } from '../../../lib/dialects/responses/sent-names.ts'
import { readToolChoice, readTools, type ReadTools } from '../../../lib/dialects/responses/tools.ts'
import type { ResponsesTool, ResponsesToolChoice } from '../../../schemas/responses.ts'

const read = (tools: readonly ResponsesTool[]): ReadTools => readTools(tools, new SentNames())

t.test('functions are unchanged, and free-form tools become functions with one text argument', async t => {
  const { tools } = read([
    { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: true },
    {
      type: 'custom',
      name: 'patch',
      description: 'Patches.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
    }
  ])
  t.match(tools, [
    {
      type: 'function',
      function: { name: 'look', description: 'Looks.', parameters: { type: 'object' }, strict: true }
    },
    {
      function: {
        name: 'patch',
        description: 'Patches.\n\nThe input must match this lark grammar:\nstart: "x"',
        parameters: { required: ['input'] }
      }
    }
  ])
})

t.test('tools of a namespace are listed individually, and OpenAI-only tools are left out', async t => {
  const { tools } = read([
    {
      type: 'namespace',
      name: 'files',
      tools: [
        { type: 'function', name: 'read' },
        { type: 'custom', name: 'patch' }
      ]
    },
    { type: 'web_search' }
  ])
  t.equal(tools.length, 2)
})

t.test('an MCP server needs a URL', async t => {
  const server = {
    type: 'mcp',
    server_label: 'mine',
    server_url: 'https://a.example/mcp',
    require_approval: 'never'
  } as const
  t.strictSame(
    read([{ ...server, authorization: 'token', allowed_tools: { tool_names: ['echo'] } }]).servers,
    [{ name: 'mine', url: 'https://a.example/mcp', authorization: 'Bearer token', allowed_tools: ['echo'] }]
  )
  const { server_url: _, ...elsewhere } = server
  t.throws(() => read([elsewhere]), { code: 'unsupported_value', param: 'tools[0].server_url' })
})

t.test('a label identifies one MCP server of a request', async t => {
  const server = (server_label: string, server_url = 'https://a.example/mcp'): ResponsesTool => ({
    type: 'mcp',
    server_label,
    server_url
  })
  const read = (labels: readonly string[], others?: readonly string[]): ReadTools =>
    readTools(
      labels.map(label => server(label)),
      new SentNames(),
      [],
      others
    )
  t.same(
    read(['mine', 'yours', 'mine']).servers.map(({ name }) => name),
    ['mine', 'yours'],
    'the same server repeated'
  )
  const different = [server('mine'), server('yours'), server('mine', 'https://b.example/mcp')]
  t.throws(() => readTools(different, new SentNames()), {
    code: 'invalid_value',
    status: 400,
    param: 'tools[2].server_label'
  })
  t.throws(() => read(['mine'], ['org/files', 'mine']), {
    code: 'invalid_value',
    param: 'tools[0].server_label'
  })
  const { approvals } = read(['mine', 'yours'], ['org/files'])
  t.strictSame(
    ['mine', 'yours', 'org/files', 'other'].map(label => approvals.isNeeded(label, 'echo')),
    [true, true, false, true]
  )
})

t.test('a tool choice uses the names that are sent', async t => {
  const names = new SentNames()
  readTools([{ type: 'function', name: 'look' }], names)
  t.equal(readToolChoice('required', names, false), 'required')
  t.strictSame(readToolChoice({ type: 'function', name: 'look' }, names, false), {
    type: 'function',
    function: { name: 'look' }
  })
  t.strictSame(readToolChoice({ type: 'mcp', server_label: 'mine' }, names, false), 'required')
  t.strictSame(readToolChoice({ type: 'mcp', server_label: 'mine' }, names, true), {
    type: 'allowed_tools',
    allowed_tools: { mode: 'required', tools: [{ type: 'mcp', server_label: 'mine' }] }
  })
  t.strictSame(readToolChoice({ type: 'mcp', server_label: 'mine', name: 'echo' }, names, false), {
    server_label: 'mine',
    name: 'echo'
  })
  t.strictSame(
    readToolChoice(
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
      names,
      false
    ),
    {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] }
    }
  )
  const allow = (...tools: Array<Record<string, unknown>>): ResponsesToolChoice => ({
    type: 'allowed_tools',
    mode: 'auto',
    tools: [...tools, { type: 'web_search' }]
  })
  const server = { type: 'mcp', server_label: 'mine' }
  t.match(readToolChoice(allow({ type: 'function', name: 'look' }, server), names, true), {
    allowed_tools: { tools: [{ function: { name: 'look' } }, server] }
  })
  t.strictSame(
    readToolChoice(allow({ type: 'function', name: 'look' }, server), names, false),
    {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] }
    },
    'without a server there are no server tools to allow'
  )
  t.throws(() => readToolChoice(allow(), names, true), {
    code: 'unsupported_value',
    param: 'tool_choice.tools'
  })
  t.throws(() => readToolChoice({ type: 'web_search_preview' }, names, false), {
    code: 'unsupported_value',
    param: 'tool_choice'
  })
})
