/**
 * Runs the protocol authors' reference server over each of its transports, and the command line on it.
 */

import { spawn } from 'node:child_process'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { readArgs, useTools } from '../../lib/cli/tools.ts'
import { CommandError } from '../../lib/process/terminal.ts'
import { createToolServers } from '../../lib/mcp/tool-servers.ts'
import { freePort, untilListening } from '../support/free-port.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import type { AddressInfo } from 'node:net'
import type { OpenOptions } from '../../lib/mcp/tool-servers.ts'
import type { ToolServerSettings } from '../../lib/core/settings.ts'

const everything = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')
)
const { signal } = new AbortController()

const local: ToolServerSettings = {
  slug: 'local/everything',
  command: process.execPath,
  args: [everything, 'stdio'],
  env: {},
  shared: true,
  headers: {}
}
const parts = {
  toolServers: [local],
  tools: {
    ...settings().tools,
    connectMs: 60_000,
    callMs: 60_000,
    sessionIdleMs: 60_000,
    allowedHosts: ['127.0.0.1']
  }
}

t.test('the reference server works over every transport', async t => {
  const [http, sse] = await Promise.all([
    startEverything(t, 'streamableHttp', '/mcp'),
    startEverything(t, 'sse', '/sse')
  ])
  const servers = createToolServers(parts)
  t.teardown(async () => await servers.close())

  for (const server of [http, sse, 'local/everything']) {
    const open = await servers.open({
      request: { mcp_servers: server },
      key: { id: 'key' },
      reservedNames: new Set(),
      signal
    })
    t.strictSame(open.errors, {}, server)
    t.ok(open.listBytes > 1000, server)
    t.match(await open.call('echo', { message: 'hé' }, { signal }), {
      text: 'Echo: hé',
      result: { isError: false }
    })
    t.match(await open.call('get-sum', { a: 2, b: 3 }, { signal }), { text: /5/ })
    t.match(await open.call('get-sum', { a: 'x' }, { signal }), { result: { isError: true } })
    t.match(await open.call('get-structured-content', { location: 'New York' }, { signal }), {
      text: /^{"temperature":[^\n]*}$/,
      result: { result: { temperature: Number, conditions: String } }
    })
    t.match(await open.call('get-tiny-image', {}, { signal }), {
      text: /\[image image\/png, \d+ bytes, not shown\]/
    })
  }

  const together = await servers.open({
    request: { mcp_servers: [http, sse] },
    key: { id: 'key' },
    reservedNames: new Set(['echo']),
    signal
  })
  const names = together.tools.map(tool => tool.function.name)
  t.equal(new Set(names).size, names.length)
  t.ok(names.every(name => /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(name) && name !== 'echo'))

  const progress: unknown[] = []
  const long = await servers.open({
    request: { mcp_servers: http },
    key: { id: 'key' },
    reservedNames: new Set(),
    signal
  })
  await long.call(
    'trigger-long-running-operation',
    { duration: 0.2, steps: 2 },
    {
      signal,
      onProgress: step => progress.push(step.progress)
    }
  )
  t.strictSame(progress, [1, 2])

  await t.test('the command line lists and calls tools', async t => {
    const list = await run(['list', http])
    t.equal(list.code, 0)
    t.match(list.out, /^echo\b.*\n {4}\S/m)
    const json = await run(['list', 'local/everything', '--json'])
    t.match(
      JSON.parse(json.out).map((tool: { name: string }) => tool.name),
      ['echo']
    )
    t.match(await run(['call', http, 'echo', '{"message":"hi"}']), { code: 0, out: 'Echo: hi' })
    const call = await run(['call', http, 'get-sum', '{"a":1,"b":2}', '--json', '-H', 'x-team: a'])
    t.match(JSON.parse(call.out), { toolName: 'get-sum', arguments: { a: 1, b: 2 }, isError: false })
    t.match(await run(['call', http, 'get-sum', '{}']), { code: 1, out: /error/ })
    t.match(await run(['call', http, 'nothing']), {
      code: 1,
      error: /unknown tool "nothing"; tools are echo/
    })
  })
})

t.test('a server of the older transport may ignore unknown requests', async t => {
  let events: ServerResponse | undefined
  const results: Readonly<Record<string, object>> = {
    initialize: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'x' } },
    'tools/list': { tools: [{ name: 'count' }] }
  }
  const server = createHttpServer((request, response) => {
    if (request.method === 'GET') {
      events = response.writeHead(200, { 'content-type': 'text/event-stream' })
      events.write('event: endpoint\ndata: /messages\n\n')
    } else if (request.url === '/sse') response.writeHead(405).end()
    else {
      response.writeHead(202).end()
      void text(request).then(body => {
        const { id, method } = JSON.parse(body)
        const result = results[method]
        if (method === 'tools/call') events?.end()
        else if (result !== undefined) events?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
      })
    }
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // listening on TCP
  const servers = createToolServers({ ...parts, tools: { ...parts.tools, connectMs: 5000 } })
  t.teardown(async () => await servers.close())
  const opened = await servers.open({
    request: { mcp_servers: `http://127.0.0.1:${port}/sse` },
    key: { id: 'key' },
    reservedNames: new Set(),
    signal
  })
  t.match(opened, { offered: [{ tool: { name: 'count' } }], errors: {} })
  t.match(await opened.call('count', {}, { signal }), {
    failure: { code: 'call', message: 'The tool server ended its answer without a result.' }
  }, 'a stream that ends owes its answers')
})

/** Child processes of this one that have not exited. */
function children (): number {
  return process.getActiveResourcesInfo().filter(name => name === 'ProcessWrap').length
}

t.test('a command runs as long as its session, and only if it is configured', async t => {
  // servers of other tests may still be running
  await until(() => children() === 0, 'every child process to end')
  const open = async (
    mcp_servers: NonNullable<OpenOptions['request']['mcp_servers']>,
    sessionIdleMs: number
  ) => {
    const servers = createToolServers({ ...parts, tools: { ...parts.tools, sessionIdleMs } })
    t.teardown(async () => await servers.close())
    return {
      servers,
      opened: await servers.open({
        request: { mcp_servers },
        key: { id: 'key' },
        reservedNames: new Set(),
        signal
      })
    }
  }
  const { servers, opened } = await open('local/everything', 60_000)
  t.match(await opened.call('echo', { message: 'hi' }, { signal }), { text: 'Echo: hi' })
  t.equal(children(), 1)
  await servers.close()
  await until(() => children() === 0, 'every child process to end')

  const idle = await open('local/everything', 1)
  t.strictSame(idle.opened.errors, {})
  await until(() => children() === 0, 'every child process to end')

  const command: object = { name: 'mine', command: process.execPath, args: [everything, 'stdio'] }
  const named = await open(
    [command, { ...command, slug: 'mine/own' }, 'stdio:node', `file://${everything}`],
    60_000
  )
  t.strictSame(new Set(Object.values(named.opened.errors).map(({ code }) => code)), new Set(['resolve']))
  t.strictSame(named.opened.offered, [])
  t.equal(children(), 0, 'what a request says starts nothing')
})

async function run (args: string[]): Promise<{ code: number, out: string, error: string }> {
  let out = ''
  try {
    return {
      code: await useTools(readArgs(args), parts, text => {
        out += text
      }),
      out,
      error: ''
    }
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return { code: error.exitCode, out, error: error.message }
  }
}

/** Starts the server without our environment, since one of its tools prints it. */
async function startEverything (t: Test, transport: string, path: string): Promise<string> {
  const port = await freePort()
  const child = spawn(process.execPath, [everything, transport], {
    env: { PORT: String(port) },
    stdio: 'ignore'
  })
  t.teardown(() => {
    child.kill()
  })
  await untilListening(port, 20_000)
  return `http://127.0.0.1:${port}${path}`
}
