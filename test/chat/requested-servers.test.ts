import t from 'tap'
import { requestedServers } from '../../lib/chat/requested-servers.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

// any value that a caller may send
const read = (servers: unknown, credentials?: unknown) =>
  requestedServers({ mcp_servers: servers, credentials } as Pick<ChatInput, 'mcp_servers' | 'credentials'>)

t.test('a server is named by a slug, a slug with a version, or a URL', async t => {
  t.strictSame(read(undefined), [])
  t.strictSame(read('org/test'), [{ name: 'org/test', slug: 'org/test', headers: {}, credentials: {} }])
  t.strictSame(read('org/test@1.2.0'), [
    { name: 'org/test', slug: 'org/test', version: '1.2.0', headers: {}, credentials: {} }
  ])
  t.strictSame(read(['https://tools.test/mcp']), [
    { name: 'https://tools.test/mcp', url: 'https://tools.test/mcp', headers: {}, credentials: {} }
  ])
  t.strictSame(read({ slug: 'org/test@1', version: '2', name: 'mine', url: null }), [
    { name: 'mine', slug: 'org/test', version: '2', headers: {}, credentials: {} }
  ])
})

t.test('secrets in a URL are not part of the server name', async t => {
  t.equal(read('https://user:pass@tools.test/?key=1')[0]?.name, 'https://tools.test')
  t.equal(read({ url: 'nonsense' })[0]?.name, 'tool server')
})

t.test('equal entries become one; different entries with the same name are distinguished', async t => {
  t.same(
    read(['a/b', 'a/b', { slug: 'a/b' }, { slug: 'a/b', headers: { x: '1' } }]).map(({ name }) => name),
    ['a/b', 'a/b (2)']
  )
})

t.test('a bare token becomes a bearer token; a value with a scheme is sent unchanged', async t => {
  const headers = (authorization: string | null) =>
    read({ slug: 'a/b', headers: { 'x-a': '1' }, authorization })[0]?.headers
  t.strictSame(headers('token'), { 'x-a': '1', authorization: 'Bearer token' })
  t.strictSame(headers('Basic abc'), { 'x-a': '1', authorization: 'Basic abc' })
  t.strictSame(headers(null), { 'x-a': '1' })
})

t.test(
  'credentials are matched to a server by its name, its slug or the last part of the slug',
  async t => {
    const credentials = [
      { connection_name: 'mine', values: 'sealed-1' },
      { connection_name: 'org/test', values: { k: 'v' } },
      { connection_name: 'test', values: 'sealed-2' },
      { connection_name: 'other', values: 'x' }
    ]
    t.strictSame(
      read({ slug: 'org/test', name: 'mine', credentials: { own: 'sealed-3' } }, credentials)[0]
        ?.credentials,
      { mine: 'sealed-1', 'org/test': { k: 'v' }, test: 'sealed-2', own: 'sealed-3' }
    )
    t.strictSame(read('https://tools.test', { connection_name: 'mine', values: 'x' })[0]?.credentials, {})
  }
)

t.test('allowed tools are passed on', async t => {
  t.same(read({ slug: 'a/b', allowed_tools: ['x'] })[0]?.allowedTools, ['x'])
  t.notOk('allowedTools' in (read({ slug: 'a/b', allowed_tools: null })[0] ?? {}))
})
