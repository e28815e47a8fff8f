import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { startToolServer } from '../support/tool-server.ts'
import { call, open, remoteServer, toolServers } from '../support/tool-servers.ts'

t.test('what a server is sent', async t => {
  t.test('sealed credentials reach only the server they are for', async t => {
    const [crm, other] = await Promise.all([startToolServer(t), startToolServer(t)])
    const tools = await open(toolServers(t), {
      mcp_servers: [
        {
          url: crm.url,
          name: 'crm',
          credentials: { inner: 'c2VhbGVk' },
          headers: { 'X-Team': 'a', Host: 'evil' },
          authorization: 'token'
        },
        { url: other.url, name: 'other' }
      ],
      credentials: [
        { connection_name: 'crm', values: { key: 'AbC', on: true } },
        { connection_name: 'missing', values: { a: 'b' } }
      ]
    })
    t.strictSame(tools.errors, {})
    const sent = crm.headers[0]
    t.match(sent, { authorization: 'Bearer token', 'x-team': 'a', host: /^127/ })
    t.strictSame(JSON.parse(Buffer.from(String(sent?.['x-mcp-credentials']), 'base64url').toString()), {
      crm: { key: 'AbC', on: true }, inner: 'c2VhbGVk'
    })
    for (const headers of other.headers) {
      t.equal(headers['x-mcp-credentials'], undefined)
      t.equal(headers.authorization, undefined)
    }
  })

  t.test('configured headers are sent for the slug, not for the bare address', async t => {
    const server = await startToolServer(t)
    const servers = toolServers(t, {}, [{
      ...remoteServer('org/test', server.url), headers: { Authorization: new Secret('Bearer operator') }
    }])
    await open(servers, { mcp_servers: { slug: 'org/test', authorization: 'mine' } })
    t.ok(server.headers.every(({ authorization }) => authorization === 'Bearer operator'))
    const before = server.headers.length
    await open(servers, { mcp_servers: server.url })
    t.ok(server.headers.slice(before).every(({ authorization }) => authorization === undefined))
  })

  t.test('only tools allowed by both the configuration and the caller are offered', async t => {
    const server = await startToolServer(t)
    const servers = toolServers(t, {}, [
      { ...remoteServer('org/test', server.url), allowedTools: ['echo', 'fail'] }
    ])
    const tools = await open(servers, {
      mcp_servers: { slug: 'org/test', allowed_tools: ['fail', 'image'] }
    })
    t.strictSame(
      tools.tools.map(tool => tool.function.name),
      ['fail']
    )
    t.match(await call(tools, 'image'), { result: { isError: true } })
    t.equal(server.counts['tool image'], undefined)
  })
})
