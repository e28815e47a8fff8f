import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SessionPool } from '../../lib/mcp/session-pool.ts'
import { version } from '../../lib/text/version.ts'
import { startToolServer } from '../support/tool-server.ts'
import { call, open, remoteServer, toolServers } from '../support/tool-servers.ts'
import { eventually, until } from '../support/until.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { Session } from '../../lib/mcp/session.ts'
import type { ToolServerTarget } from '../../lib/mcp/tool-server-target.ts'
import type { OpenOptions } from '../../lib/mcp/tool-servers.ts'

t.test('sessions are shared, limited and closed', async t => {
  t.test('calls with the same credentials share a session, others do not', async t => {
    const server = await startToolServer(t)
    const servers = toolServers(t)
    const spec = (authorization: string): OpenOptions['request'] => ({
      mcp_servers: { url: server.url, authorization }
    })
    await Promise.all([open(servers, spec('one')), open(servers, spec('one'))])
    await open(servers, spec('one'))
    t.equal(server.counts['initialize'], 1)
    await open(servers, spec('two'))
    t.equal(server.counts['initialize'], 2)
    await open(servers, spec('one'), { key: { id: 'another gateway key' } })
    t.equal(server.counts['initialize'], 3)
  })

  t.test('a session with a configured server belongs to one key', async t => {
    const server = await startToolServer(t)
    const servers = toolServers(t, {}, [remoteServer('org/test', server.url)])
    for (const id of ['a', 'a', 'b']) await open(servers, { mcp_servers: 'org/test' }, { key: { id } })
    t.equal(server.counts['initialize'], 2)
  })

  t.test('a shared session is used by all keys that add nothing of their own', async t => {
    const server = await startToolServer(t)
    const servers = toolServers(t, {}, [remoteServer('org/test', server.url, { shared: true })])
    await open(servers, { mcp_servers: 'org/test' }, { key: { id: 'a' } })
    await open(servers, { mcp_servers: 'org/test' }, { key: { id: 'b' } })
    t.equal(server.counts['initialize'], 1)
    for (const keyId of ['a', 'b']) {
      await open(
        servers,
        { mcp_servers: { slug: 'org/test', credentials: { test: 'sealed' } } },
        { key: { id: keyId } }
      )
    }
    t.equal(server.counts['initialize'], 3)
  })

  t.test('a session that the server has forgotten is reopened once, and the call runs once', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t), { mcp_servers: server.url })
    server.forget()
    t.match(await call(tools, 'counted'), { result: { isError: false, result: { times: 1 } } })
    t.equal(server.counts['initialize'], 2)
    server.behaviour.status = 404
    t.match(await call(tools, 'counted'), { result: { isError: true }, failure: { code: 'call' } })
    t.equal(server.counts['tool counted'], 1)
  })

  t.test('an idle session is ended at the server and leaves no socket', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t, { sessionIdleMs: 1 }), { mcp_servers: server.url })
    await call(tools, 'echo')
    await until(
      () => server.counts['DELETE'] !== undefined && server.sessions.size === 0,
      'the session to be deleted'
    )
    t.match(await call(tools, 'echo'), { text: 'echo: {}' }, 'and opened again when it is needed')
  })

  t.test('beyond the cap the longest idle session is closed', async t => {
    const [first, second, third] = await Promise.all([
      startToolServer(t),
      startToolServer(t),
      startToolServer(t)
    ])
    const servers = toolServers(t, { maxSessions: 2 })
    for (const { url } of [first, second, first, third]) await open(servers, { mcp_servers: url })
    await until(() => second.sessions.size === 0, 'no session at the second server')
    t.equal(first.sessions.size + third.sessions.size, 2)
  })

  t.test('a session beyond the cap is closed after use if all others are busy', async t => {
    const [first, second] = await Promise.all([startToolServer(t), startToolServer(t)])
    const servers = toolServers(t, { maxSessions: 1 })
    const tools = await open(servers, { mcp_servers: first.url })
    const leaving = new AbortController()
    const slow = tools.call('slow', {}, { signal: leaving.signal }).catch(() => 'left')
    await until(() => first.counts['tool slow'] === 1, 'the slow tool to be called')
    t.equal((await open(servers, { mcp_servers: second.url })).offered.length, 9)
    await until(() => second.sessions.size === 0, 'no session at the second server')
    t.equal(first.sessions.size, 1)
    leaving.abort()
    await slow
  })

  t.test(
    'a key has at most 32 sessions in a small pool, its idle ones are closed, other keys are not affected',
    async t => {
      const hanging = await startToolServer(t, { silent: ['initialize'] })
      const good = await startToolServer(t)
      const servers = toolServers(t, { maxSessions: 2 })
      const leaving = new AbortController()
      const entries = Array.from({ length: 32 }, (_, index) => ({
        url: hanging.url,
        name: `hanging ${index}`,
        headers: { 'x-number': `${index}` }
      }))
      const stuck = open(servers, { mcp_servers: entries }, { signal: leaving.signal }).catch(() => 'left')
      await until(() => hanging.counts['initialize'] === 32, '32 sessions being opened')
      t.match((await open(servers, { mcp_servers: { url: good.url, name: 'mine' } })).errors, {
        mine: { code: 'connect', message: 'This API key has 32 open tool sessions, the maximum.' }
      })
      t.strictSame((await open(servers, { mcp_servers: good.url }, { key: { id: 'another' } })).errors, {})
      leaving.abort()
      await stuck
    }
  )

  t.test("callers' sessions never end the process of a local server", async t => {
    const directory = t.testdir({ 'server.mjs': localServer, starts: '' })
    const starts = join(directory, 'starts')
    const hanging = await startToolServer(t, { silent: ['initialize'] })
    const local = {
      slug: 'org/local',
      command: process.execPath,
      args: [join(directory, 'server.mjs'), starts],
      headers: {},
      env: {},
      shared: true
    }
    const servers = toolServers(t, { maxSessions: 1 }, [local])
    await open(servers, { mcp_servers: 'org/local' })
    const before = readFileSync(starts, 'utf8')
    const leaving = new AbortController()
    const stuck = open(servers, { mcp_servers: hanging.url }, { signal: leaving.signal }).catch(() => 'left')
    await until(() => hanging.counts['initialize'] === 1, 'a session that fills the pool')
    const opened = await Promise.all(
      Array.from({ length: 10 }, async () => await open(servers, { mcp_servers: 'org/local' }))
    )
    t.strictSame(
      opened.map(({ errors }) => errors),
      Array.from({ length: 10 }, () => ({}))
    )
    await Promise.all(opened.map(async tools => await call(tools, 'here')))
    t.equal(readFileSync(starts, 'utf8'), before)
    leaving.abort()
    await stuck
  })

  t.test('a server is sent the name and version of this package', async t => {
    const server = await startToolServer(t)
    await open(toolServers(t), { mcp_servers: server.url })
    t.strictSame(server.clients, [{ name: 'headgate', version }])
  })

  t.test('all pages of a tool list share one limit', async t => {
    const server = await startToolServer(t, { pageSize: 1, descriptionLength: 3 * 1024 * 1024 })
    t.strictSame((await open(toolServers(t), { mcp_servers: { url: server.url, name: 'large' } })).errors, {
      large: { code: 'list', message: 'The answer of the tool server is too large.' }
    })
    t.equal(server.counts['tools/list'], 6, 'of nine pages')
  })

  t.test('closing ends every session and every socket', async t => {
    const server = await startToolServer(t)
    const servers = toolServers(t)
    const tools = await open(servers, { mcp_servers: server.url })
    for (let round = 0; round < 200; round++) await call(tools, 'echo')
    t.ok(server.sockets.size < 5, 'sockets are used again')
    await servers.close()
    t.equal(server.sessions.size, 0)
    await until(() => server.sockets.size === 0, 'every connection to the server to close')
  })

  t.test('tools are listed once, page by page, and again when the server reports a change', async t => {
    const server = await startToolServer(t, { pageSize: 2 })
    const servers = toolServers(t)
    t.equal((await open(servers, { mcp_servers: server.url })).offered.length, 9)
    t.equal((await open(servers, { mcp_servers: server.url })).offered.length, 9)
    t.equal(server.counts['tools/list'], 5)
    server.behaviour.more = ['new']
    await until(() => server.streams.size === 1, 'an open event stream')
    server.announceChange()
    const offered = async (): Promise<number> =>
      (await open(servers, { mcp_servers: server.url })).offered.length
    t.equal(await eventually(offered, count => count !== 9, 'another list of tools'), 10)
    t.equal(server.counts['tools/list'], 10)
  })
})

/** Speaks the protocol over its standard streams, and records each start in a file. */
const localServer = `
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
appendFileSync(process.argv[2], 'started\\n')
const results = {
  initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'local', version: '1' } },
  'tools/list': { tools: [{ name: 'here', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'yes' }] }
}
createInterface(process.stdin).on('line', line => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const result = results[method]
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...result === undefined ? { error: { code: -32601, message: 'no' } } : { result } }))
})
`

t.test('beyond the limit for tool lists the longest idle session is closed, never one in use', async t => {
  const listBytes: Readonly<Record<string, number>> = { busy: 200, first: 60, second: 60 }
  const closed: string[] = []
  const pool = new SessionPool({
    connect: async ({ sessionKey: key }) => {
      const close = async (): Promise<void> => { closed.push(key) }
      return { listBytes: listBytes[key], closed: false, close } as unknown as Session // what the pool reads
    },
    idleMs: 60_000,
    capacity: 10,
    maxPerKey: 10,
    maxListBytes: 100
  })
  const use = async (sessionKey: string, work = async () => {}): Promise<void> => {
    await pool.use({ sessionKey } as ToolServerTarget, new AbortController().signal, work) // what it reads
  }
  const [started, end] = [withResolvers<void>(), withResolvers<void>()]
  const busy = use('busy', async () => {
    started.resolve()
    await end.promise
  })
  await started.promise
  await use('first')
  t.same(closed, [])
  await use('second')
  await until(() => closed.length > 0, 'a session to be closed')
  t.same(closed, ['first'])
  end.resolve()
  await busy
  await until(() => closed.length > 1, 'another to be closed')
  t.same(closed, ['first', 'busy'])
  await pool.close()
})
