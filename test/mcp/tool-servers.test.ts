import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { startToolServer } from '../support/tool-server.ts'
import { call, open, remoteServer, toolServers } from '../support/tool-servers.ts'

t.test('a version is checked against the one the server reports', async t => {
  const server = await startToolServer(t)
  const servers = toolServers(t, {}, [remoteServer('org/test', server.url)])
  t.strictSame((await open(servers, { mcp_servers: ['org/test@9.9', 'org/test@1'] })).errors, {
    'org/test': {
      code: 'resolve',
      message: 'The tool server `org/test` is not available in version 9.9.',
      recommendation: 'Leave out the version, or send 1.'
    }
  })
})

t.test('servers named by callers are reached through the tools proxy', async t => {
  const server = await startToolServer(t)
  const proxy = await startConnectProxy(t, undefined, new URL(server.url).host)
  const proxyCredentials = new Secret('me:secret')
  const servers = toolServers(
    t,
    { proxy: proxy.url, proxyCredentials },
    [remoteServer('org/test', server.url)]
  )
  const named = await open(servers, { mcp_servers: 'http://93.184.215.14/mcp' })
  t.ok(named.offered.length > 0)
  t.match((await call(named, 'echo', { text: 'hello' })).text, /hello/)
  t.ok(proxy.requests.length > 0)
  for (const { target, authorization } of proxy.requests) {
    t.equal(target, '93.184.215.14:80')
    t.equal(authorization, `Basic ${Buffer.from('me:secret').toString('base64')}`)
  }
  const tunnels = proxy.requests.length
  t.ok((await open(servers, { mcp_servers: 'org/test' })).offered.length > 0)
  t.equal(proxy.requests.length, tunnels, 'a server of the operator is reached directly')
})

t.test('a failed server is reported by any name', async t => {
  const { errors } = await open(toolServers(t), {
    mcp_servers: ['__proto__', 'constructor'].map(name => ({ name, url: 'http://10.0.0.1/mcp' }))
  })
  t.strictSame(Object.keys(errors), ['__proto__', 'constructor'])
})

t.test('nothing is printed about a server without tools', async t => {
  const printed = t.capture(console, 'debug')
  const introduction = {
    protocolVersion: '2025-06-18',
    capabilities: { prompts: {} },
    serverInfo: { name: 'x', version: '1' }
  }
  const server = await startToolServer(t, { lies: { initialize: introduction } })
  const { offered, errors } = await open(toolServers(t), { mcp_servers: server.url })
  t.same(offered, [])
  t.strictSame(errors, {})
  t.same(printed(), [])
})

t.test('tools that only run as tasks are not offered', async t => {
  const tool = (name: string, taskSupport: string): object => ({
    name,
    inputSchema: { type: 'object' },
    execution: { taskSupport }
  })
  const tools = ['required', 'optional', 'forbidden'].map(support => tool(support, support))
  const server = await startToolServer(t, { lies: { 'tools/list': { tools } } })
  const { offered } = await open(toolServers(t), { mcp_servers: server.url })
  t.strictSame(offered.map(({ name }) => name), ['optional', 'forbidden'])
})
