import t from 'tap'
import { startToolServer } from '../support/tool-server.ts'
import { open, remoteServer, toolServers } from '../support/tool-servers.ts'

t.test('a version is checked against the one the server reports', async t => {
  const server = await startToolServer(t)
  const servers = toolServers(t, {}, [remoteServer('org/test', server.url)])
  t.strictSame((await open(servers, { mcp_servers: ['org/test@9.9', 'org/test@1'] })).errors, {
    'org/test': {
      code: 'resolve',
      message: 'The tool server `org/test` does not run version 9.9.',
      recommendation: 'Leave out the version, or send 1.'
    }
  })
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
