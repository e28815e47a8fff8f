import { createServer } from 'node:http'
import t from 'tap'
import { startToolServer } from '../support/tool-server.ts'
import { open, toolServers } from '../support/tool-servers.ts'
import type { AddressInfo } from 'node:net'

t.test('unconfigured slugs are looked up in the registry, once', async t => {
  const server = await startToolServer(t)
  const paths: string[] = []
  const answers: Record<string, unknown> = {
    '/v0/servers?search=org%2Ftest&version=latest&limit=100': {
      servers: [{ server: { name: 'io.github.org/test' } }, { server: { name: 'io.github.org/test-more' } }]
    },
    '/v0/servers/io.github.org%2Ftest/versions/1.2.0': {
      server: {
        name: 'io.github.org/test',
        remotes: [
          { type: 'sse', url: 'http://10.0.0.1/' },
          { type: 'streamable-http', url: server.url }
        ]
      }
    },
    '/v0/servers?search=org%2Fkeyed&version=latest&limit=100': { servers: [{ name: 'org/keyed' }] },
    '/v0/servers/org%2Fkeyed/versions/latest': {
      name: 'org/keyed',
      remotes: [{ type: 'streamable-http', url: server.url, headers: [{ name: 'X-Key', isRequired: true }] }]
    },
    '/v0/servers?search=org%2Ftwo&version=latest&limit=100': {
      servers: [{ name: 'a.org/two' }, { name: 'b.org/two' }]
    }
  }
  const registry = createServer((request, response) => {
    paths.push(request.url ?? '')
    const answer = answers[request.url ?? '']
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}))
  })
  await new Promise<void>(resolve => { registry.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { registry.close() })
  const registryUrl = `http://127.0.0.1:${(registry.address() as AddressInfo).port}` // listening on TCP
  const servers = toolServers(t, { registryUrl })

  t.strictSame((await open(servers, { mcp_servers: 'org/test@1.2.0' })).errors, {})
  t.equal((await open(servers, { mcp_servers: { slug: 'org/test', version: '1.2.0' } })).offered.length, 9)
  t.equal(paths.length, 2)
  t.match(await open(servers, { mcp_servers: 'org/keyed' }), {
    errors: { 'org/keyed': { code: 'resolve', recommendation: /X-Key/ } }
  })
  t.equal(
    (await open(servers, { mcp_servers: { slug: 'org/keyed', headers: { 'x-key': 'k' } } })).offered.length,
    9
  )
  t.match((await open(servers, { mcp_servers: ['org/two', 'org/none'] })).errors, {
    'org/two': { recommendation: /a\.org\/two, b\.org\/two/ }, 'org/none': { code: 'resolve' }
  })
})
