/** Servers that are child processes and write what sloppy ones write. */

import { join } from 'node:path'
import t from 'tap'
import { call, open, toolServers } from '../support/tool-servers.ts'
import type { OpenTools } from '../../lib/mcp/tool-servers.ts'
import type { Test } from 'tap'

/** Answers as its argument says: results, as JavaScript, by method. */
const program = `
import { createInterface } from 'node:readline'
const lies = JSON.parse(process.argv[2])
process.stdout.write('Server starting ...\\n[INFO] {"listening": true}\\n\\n')
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  process.stdout.write('DEBUG: got ' + method + '\\n')
  const usual = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
    'tools/list': { tools: [{ name: 'count', inputSchema: { type: 'object', properties: {} } }] },
    'tools/call': { content: [{ type: 'text', text: 'counted' }] }
  }[method]
  if (lies[method] === 'exit') process.exit(1)
  if (lies[method] === 'half') { process.stdout.write('{"jsonrpc":"2.0","id":' + id); process.exit(0) }
  const result = usual && { ...usual, ...lies[method] }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: lies.id === 'text' ? String(id) : id, ...result ? { result } : { error: { code: -32601, message: 'no' } } }) + '\\n')
})
`

function start (t: Test, lies: Readonly<Record<string, unknown>>): () => Promise<OpenTools> {
  const script = join(t.testdir({ 'server.mjs': program }), 'server.mjs')
  const servers = toolServers(t, {}, [{ slug: 'a/local', command: process.execPath, args: [script, JSON.stringify(lies)], headers: {}, env: {}, shared: true }])
  return async () => await open(servers, { mcp_servers: 'a/local' })
}

t.test('lines of a log among the messages, odd members and ids as text cost neither tools nor results', async t => {
  const nulls = {
    initialize: { capabilities: null, instructions: null },
    'tools/list': { tools: [null, { name: 'count', description: null, inputSchema: null, annotations: null }], nextCursor: null },
    'tools/call': { content: null, structuredContent: ['counted'], isError: null }
  }
  for (const [lies, text] of [[{}, 'counted'], [{ id: 'text' }, 'counted'], [nulls, '["counted"]']] as const) {
    const tools = await start(t, lies)()
    t.strictSame(tools.tools.map(tool => tool.function.name), ['count'])
    t.equal((await call(tools, 'count')).text, text)
    t.match(tools.errors, lies === nulls ? { 'a/local': { message: 'Tools of the server have no name, and are left out: number 1.' } } : {})
  }
})

t.test('a process that ends during a call is a failure at once, and another is started for the next', async t => {
  for (const end of ['exit', 'half']) {
    const opened = start(t, { 'tools/call': end })
    for (let time = 0; time < 2; time++) {
      const tools = await opened()
      t.equal(tools.tools.length, 1)
      t.match(await call(tools, 'count'), { failure: { code: 'call', message: 'The tool server ended the connection before its answer.' } }, end)
    }
  }
})
