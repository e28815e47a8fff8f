import t from 'tap'
import { Approvals } from '../../../lib/dialects/responses/approvals.ts'
import type { McpTool } from '../../../schemas/responses.ts'

const server = (
  require_approval: NonNullable<McpTool['require_approval']>,
  server_url = 'https://a.example/mcp'
): McpTool => ({ type: 'mcp', server_label: 'mine', server_url, require_approval })
const needed = (rule: NonNullable<McpTool['require_approval']>): boolean =>
  new Approvals([server(rule)]).isNeeded('mine', 'echo')

t.test('a call waits for approval unless its server or tool needs none', async t => {
  t.ok(needed('always'))
  t.notOk(needed('never'))
  t.notOk(needed({ never: { tool_names: ['echo'] } }))
  t.ok(needed({ never: { tool_names: ['other'] } }))
  t.ok(
    needed({ never: { tool_names: ['echo'] }, always: { tool_names: ['echo'] } }),
    'the stricter rule wins'
  )
  t.ok(
    needed({ never: { read_only: true, tool_names: ['echo'] } }),
    "the server's own claim to be read-only is ignored"
  )
  t.notOk(
    new Approvals([], ['configured']).isNeeded('configured', 'echo'),
    'configured servers need none'
  )
  t.ok(
    new Approvals([server('never')], ['configured']).isNeeded('mine (2)', 'echo'),
    'an unknown server does'
  )
})

t.test('an approval applies to one call, at the server as declared', async t => {
  const approvals = new Approvals([server('always')])
  const id = approvals.idFor('mine', 'echo', '{"x":1}')
  t.match(id, /^mcpr_[0-9a-f]{32}$/)
  t.not(id, approvals.idFor('mine', 'echo', '{"x":1}'))
  t.ok(approvals.isFor(id, 'mine', 'echo', '{"x":1}'))
  t.notOk(approvals.isFor(id, 'mine', 'echo', '{"x":2}'))
  t.notOk(approvals.isFor(id, 'mine', 'other', '{"x":1}'))
  t.notOk(new Approvals([server('always', 'https://b.example/mcp')]).isFor(id, 'mine', 'echo', '{"x":1}'))
  t.notOk(new Approvals([]).isFor(id, 'mine', 'echo', '{"x":1}'))
})
