import t from 'tap'
import { requestedServers } from '../../lib/chat/requested-servers.ts'
import type { ChatInput } from '../../lib/chat/input.ts'

// as callers write them
const read = (servers: unknown, credentials?: unknown) =>
  requestedServers({ mcp_servers: servers, credentials } as Pick<ChatInput, 'mcp_servers' | 'credentials'>)

t.test('a server is named by a slug, by a slug with a version, or by a URL', async t => {
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

t.test('what may be secret in a URL is not in its name', async t => {
  t.equal(read('https://user:pass@tools.test/?key=1')[0]?.name, 'https://tools.test')
  t.equal(read({ url: 'nonsense' })[0]?.name, 'tool server')
})

t.test('entries that are the same are one; different ones of one name are distinguished', async t => {
  t.same(
    read(['a/b', 'a/b', { slug: 'a/b' }, { slug: 'a/b', headers: { x: '1' } }]).map(({ name }) => name),
    ['a/b', 'a/b (2)']
  )
})

t.test('a bare token becomes a bearer, a value with a scheme is sent as it is', async t => {
  const headers = (authorization: string | null) =>
    read({ slug: 'a/b', headers: { 'x-a': '1' }, authorization })[0]?.headers
  t.strictSame(headers('token'), { 'x-a': '1', authorization: 'Bearer token' })
  t.strictSame(headers('Basic abc'), { 'x-a': '1', authorization: 'Basic abc' })
  t.strictSame(headers(null), { 'x-a': '1' })
})

t.test(
  'credentials go to the server that they name, by its own name, its slug or the last part of that',
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

t.test('tools that are allowed are passed on', async t => {
  t.same(read({ slug: 'a/b', allowed_tools: ['x'] })[0]?.allowedTools, ['x'])
  t.notOk('allowedTools' in (read({ slug: 'a/b', allowed_tools: null })[0] ?? {}))
})
