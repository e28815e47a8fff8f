/** Servers that are child processes and write what sloppy ones write. */

import { join } from 'node:path'
import t from 'tap'
import { call, open, toolServers } from '../support/tool-servers.ts'
import { repairTransport } from '../../lib/mcp/repair-transport.ts'
import type { OpenTools } from '../../lib/mcp/tool-servers.ts'
import type { Transport } from '@modelcontextprotocol/client'
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
  if (lies.envelope?.[method] !== undefined) {
    const answer = { jsonrpc: '2.0', id, result, ...lies.envelope[method] }
    process.stdout.write(JSON.stringify({ level: 30, msg: 'answering' }) + '\\n')
    process.stdout.write(JSON.stringify(lies.list === true ? [answer] : answer) + '\\n')
    return
  }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: lies.id === 'text' ? String(id) : id, ...result ? { result } : { error: { code: -32601, message: 'no' } } }) + '\\n')
})
`

function start (
  t: Test,
  lies: Readonly<Record<string, unknown>>,
  connectMs?: number
): () => Promise<OpenTools> {
  const script = join(t.testdir({ 'server.mjs': program }), 'server.mjs')
  const servers = toolServers(t, connectMs === undefined ? {} : { connectMs }, [
    {
      slug: 'a/local',
      command: process.execPath,
      args: [script, JSON.stringify(lies)],
      headers: {},
      env: {},
      shared: true
    }
  ])
  return async () => await open(servers, { mcp_servers: 'a/local' })
}

t.test(
  'lines of a log among the messages, odd members and ids as text cost neither tools nor results',
  async t => {
    const nulls = {
      initialize: { capabilities: null, instructions: null },
      'tools/list': {
        tools: [null, { name: 'count', description: null, inputSchema: null, annotations: null }],
        nextCursor: null
      },
      'tools/call': { content: null, structuredContent: ['counted'], isError: null }
    }
    for (const [lies, text] of [
      [{}, 'counted'],
      [{ id: 'text' }, 'counted'],
      [nulls, '["counted"]']
    ] as const) {
      const tools = await start(t, lies)()
      t.strictSame(
        tools.tools.map(tool => tool.function.name),
        ['count']
      )
      t.equal((await call(tools, 'count')).text, text)
      t.match(
        tools.errors,
        lies === nulls
          ? { 'a/local': { message: 'Tools of the server have no name, and are left out: number 1.' } }
          : {}
      )
    }
  }
)

t.test(
  'a process that ends during a call is a failure at once, and another is started for the next',
  async t => {
    for (const end of ['exit', 'half']) {
      const opened = start(t, { 'tools/call': end })
      for (let time = 0; time < 2; time++) {
        const tools = await opened()
        t.equal(tools.tools.length, 1)
        t.match(
          await call(tools, 'count'),
          { failure: { code: 'call', message: 'The tool server ended the connection before its answer.' } },
          end
        )
      }
    }
  }
)

t.test(
  'an answer without a valid envelope is a failure at once, and what is logged as JSON is none',
  async t => {
    const wrong = {
      message: 'The answer of the tool server was not valid JSON-RPC.',
      recommendation: /`jsonrpc: "2\.0"`/
    }
    const rows: ReadonlyArray<readonly [name: string, change: object, isList?: boolean]> = [
      ['no version', { jsonrpc: null }],
      ['another version', { jsonrpc: '1.0' }],
      ['an error beside a result', { error: null }],
      ['a null result', { result: null }],
      ['an error that is a text', { result: undefined, error: 'no' }],
      ['no id', { id: null }],
      ['a list', {}, true]
    ]
    for (const [name, change, list = false] of rows) {
      const startedMs = performance.now()
      const tools = await start(t, { envelope: { 'tools/call': change }, list })()
      t.match(await call(tools, 'count'), { failure: { code: 'call', ...wrong } }, name)
      const listed = await start(t, { envelope: { 'tools/list': change }, list })()
      t.match(listed.errors, { 'a/local': { code: 'list', ...wrong } }, name)
      t.ok(performance.now() - startedMs < 8000, `${name}: not after a timeout`)
    }
    t.equal(
      (await call(await start(t, { envelope: { 'tools/call': {} } })(), 'count')).text,
      'counted',
      'a valid one beside a line of a log'
    )
  }
)

t.test(
  'a process that does not say which revision it speaks is used as one of an earlier revision',
  async t => {
    const tools = await start(t, { envelope: { 'server/discover': { error: 'unknown method' } } }, 1500)()
    t.equal((await call(tools, 'count')).text, 'counted')
  }
)

t.test('a process that sends requests and reads no reply makes nobody keep them', async t => {
  let sent = 0
  let taken = (): void => {}
  const transport: Transport = {
    start: async () => {},
    close: async () => {},
    send: async () => {
      sent++
      await new Promise<void>(resolve => { taken = resolve })
    }
  }
  repairTransport(transport, { leftOut: new Set(), bytes: 0, maxBytes: 1000 })
  for (let id = 0; id < 1000; id++) void transport.send({ jsonrpc: '2.0', id, result: {} })
  t.equal(sent, 100)
  void transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' })
  t.equal(sent, 101, 'requests of ours are sent')
  taken()
})
