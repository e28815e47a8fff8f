import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createToolServers, type OpenTools, type ToolOutcome, type ToolServers } from '../../lib/mcp/tool-servers.ts'
import { Secret } from '../../lib/core/secret.ts'
import { version } from '../../lib/text/version.ts'
import { settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { until } from '../support/until.ts'
import type { AddressInfo } from 'node:net'
import type { OpenOptions } from '../../lib/mcp/tool-servers.ts'
import type { ToolServerSettings, ToolSettings } from '../../lib/core/settings.ts'

const { signal } = new AbortController()

t.test('sessions', async t => {
  t.test('calls with the same credentials share one session, others get their own', async t => {
    const server = await startToolServer(t)
    const servers = toolServers(t)
    const spec = (authorization: string): OpenOptions['request'] => ({ mcp_servers: { url: server.url, authorization } })
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

  t.test('a session that the operator shares is used by all keys that add nothing of their own', async t => {
    const server = await startToolServer(t)
    const servers = toolServers(t, {}, [remoteServer('org/test', server.url, { shareSessions: true })])
    await open(servers, { mcp_servers: 'org/test' }, { key: { id: 'a' } })
    await open(servers, { mcp_servers: 'org/test' }, { key: { id: 'b' } })
    t.equal(server.counts['initialize'], 1)
    for (const keyId of ['a', 'b']) {
      await open(servers, { mcp_servers: { slug: 'org/test', credentials: { test: 'sealed' } } }, { key: { id: keyId } })
    }
    t.equal(server.counts['initialize'], 3)
  })

  t.test('a session the server has forgotten is opened anew, once, and the call runs once', async t => {
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
    await until(() => server.counts['DELETE'] !== undefined && server.sessions.size === 0, 'the session to be deleted')
    t.match(await call(tools, 'echo'), { text: 'echo: {}' }, 'and opened again when it is needed')
  })

  t.test('beyond the cap the session idle for longest makes room', async t => {
    const [first, second, third] = await Promise.all([startToolServer(t), startToolServer(t), startToolServer(t)])
    const servers = toolServers(t, { maxSessions: 2 })
    for (const { url } of [first, second, first, third]) await open(servers, { mcp_servers: url })
    await until(() => second.sessions.size === 0, 'no session at the second server')
    t.equal(first.sessions.size + third.sessions.size, 2)
  })

  t.test('a session over the cap while all others work is closed after use', async t => {
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

  t.test('a key has at most 32 sessions in a small pool, idle ones make room, and other keys are not affected', async t => {
    const hanging = await startToolServer(t, { silent: ['initialize'] })
    const good = await startToolServer(t)
    const servers = toolServers(t, { maxSessions: 2 })
    const leaving = new AbortController()
    const entries = Array.from({ length: 32 }, (_, index) => ({ url: hanging.url, name: `hanging ${index}`, headers: { 'x-number': `${index}` } }))
    const stuck = open(servers, { mcp_servers: entries }, { signal: leaving.signal }).catch(() => 'left')
    await until(() => hanging.counts['initialize'] === 32, '32 sessions being opened')
    t.match((await open(servers, { mcp_servers: { url: good.url, name: 'mine' } })).errors, {
      mine: { code: 'connect', message: 'This API key has 32 tool sessions open, the maximum.' }
    })
    t.strictSame((await open(servers, { mcp_servers: good.url }, { key: { id: 'another' } })).errors, {})
    leaving.abort()
    await stuck
  })

  t.test('sessions of callers never cost a local server its process', async t => {
    const directory = t.testdir({ 'server.mjs': localServer, starts: '' })
    const starts = join(directory, 'starts')
    const hanging = await startToolServer(t, { silent: ['initialize'] })
    const local = { slug: 'org/local', command: process.execPath, args: [join(directory, 'server.mjs'), starts], headers: {}, env: {}, shareSessions: true }
    const servers = toolServers(t, { maxSessions: 1 }, [local])
    await open(servers, { mcp_servers: 'org/local' })
    const before = readFileSync(starts, 'utf8')
    const leaving = new AbortController()
    const stuck = open(servers, { mcp_servers: hanging.url }, { signal: leaving.signal }).catch(() => 'left')
    await until(() => hanging.counts['initialize'] === 1, 'a session that fills the pool')
    const opened = await Promise.all(Array.from({ length: 10 }, async () => await open(servers, { mcp_servers: 'org/local' })))
    t.strictSame(opened.map(({ errors }) => errors), Array.from({ length: 10 }, () => ({})))
    await Promise.all(opened.map(async tools => await call(tools, 'here')))
    t.equal(readFileSync(starts, 'utf8'), before)
    leaving.abort()
    await stuck
  })

  t.test('a server learns the name and version of this package', async t => {
    const server = await startToolServer(t)
    await open(toolServers(t), { mcp_servers: server.url })
    t.strictSame(server.clients, [{ name: 'headgate', version }])
  })

  t.test('all pages of a tool list together are bounded', async t => {
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

  t.test('tools are listed once, page by page, and again when the server says they changed', async t => {
    const server = await startToolServer(t, { pageSize: 2 })
    const servers = toolServers(t)
    t.equal((await open(servers, { mcp_servers: server.url })).offered.length, 9)
    t.equal((await open(servers, { mcp_servers: server.url })).offered.length, 9)
    t.equal(server.counts['tools/list'], 5)
    server.behaviour.more = ['new']
    await until(() => server.streams.size === 1, 'an open event stream')
    server.announceChange()
    let offered = 9
    while (offered === 9) {
      offered = (await open(servers, { mcp_servers: server.url })).offered.length
      await new Promise(resolve => { setImmediate(resolve) })
    }
    t.equal(offered, 10)
    t.equal(server.counts['tools/list'], 10)
  })
})

t.test('servers that fail are reported, with the phase, and delay no call', async t => {
  const good = await startToolServer(t)
  const refusing = await startToolServer(t, { status: 401 })
  const broken = await startToolServer(t, { status: 500 })
  const lost = await startToolServer(t, { status: 404 })
  const lying = await startToolServer(t, { lies: { initialize: { protocolVersion: 7 } } })
  const garbled = await startToolServer(t, { lies: { 'tools/list': { tools: 'many' } } })
  const hanging = await startToolServer(t, { silent: ['tools/list'] })
  const mute = await startToolServer(t, { silent: ['server/discover'] })
  const named = [{ good }, { refusing }, { broken }, { lost }, { lying }, { garbled }, { hanging }, { mute }].flatMap(entry =>
    Object.entries(entry).map(([name, { url }]) => ({ name, url })))
  const servers = toolServers(t, { connectMs: 2000, allowedHosts: ['127.0.0.0/8'] })
  const { offered, errors } = await open(servers, {
    mcp_servers: [
      ...named,
      { name: 'gone', url: `http://127.0.0.1:${await closedPort()}/mcp` },
      { name: 'inner', url: 'http://10.0.0.1/mcp' },
      { name: 'secretive', url: 'http://user:pass@127.0.0.1/mcp' },
      { name: 'header', url: good.url, headers: { 'x-a': 'b\r\nc: d' } },
      'no/such@1.0'
    ]
  })
  t.equal(offered.length, 9)
  const phases = Object.fromEntries(Object.entries(errors).map(([name, { code }]) => [name, code]))
  t.strictSame(phases, {
    refusing: 'initialize',
    broken: 'initialize',
    lost: 'initialize',
    lying: 'initialize',
    garbled: 'list',
    hanging: 'list',
    mute: 'connect',
    gone: 'connect',
    inner: 'connect',
    secretive: 'resolve',
    header: 'resolve',
    'no/such': 'resolve'
  })
  t.match(errors['refusing'], { message: /refused access \(HTTP 401\)/, recommendation: /authorization/ })
  t.equal(lost.counts['HTTP 404'], 3, 'asked once in each way a server may be spoken to')
  t.match(errors['gone'], { message: /ECONNREFUSED/ })
  t.match(errors['inner'], { message: /not public/, recommendation: /allowed_hosts/ })
  t.match(errors['mute'], { message: /in time/ })
  t.notMatch(JSON.stringify(errors), /secret words|pass@/)
})

t.test('a port that HTTP clients refuse is reported as such', async t => {
  const { errors } = await open(toolServers(t), { mcp_servers: { url: 'http://127.0.0.1:9/mcp', name: 'discard' } })
  t.match(errors, { discard: { message: 'The tool server could not be reached: HTTP clients do not connect to its port.' } })
})

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
  const tool = (name: string, taskSupport: string): object => ({ name, inputSchema: { type: 'object' }, execution: { taskSupport } })
  const tools = ['required', 'optional', 'forbidden'].map(support => tool(support, support))
  const server = await startToolServer(t, { lies: { 'tools/list': { tools } } })
  const { offered } = await open(toolServers(t), { mcp_servers: server.url })
  t.strictSame(offered.map(({ name }) => name), ['optional', 'forbidden'])
})

t.test('calls', async t => {
  t.test('results become text for the model and values for the caller', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t), { mcp_servers: { url: server.url, name: 'mine' } })
    t.match(await call(tools, 'echo', { a: 1 }), {
      text: 'echo: {"a":1}',
      result: { toolName: 'echo', serverName: 'mine', arguments: { a: 1 }, isError: false, result: 'echo: {"a":1}' }
    })
    t.match(await call(tools, 'counted'), { text: '{"times":1}', result: { result: { times: 1 } } })
    t.match(await call(tools, 'fail'), { text: /reported an error:\nno luck/, result: { isError: true } })
    t.match(await call(tools, 'refuse'), { text: /a is missing/, result: { isError: true }, failure: undefined })
    t.equal((await call(tools, 'image')).text,
      '[image image/png, 3 bytes, not shown]\n[resource file:///a.txt]\ninside\n[resource file:///b.txt: b]')
    t.match(await call(tools, 'no such tool'), { text: /Unknown tool `no such tool`/, result: { isError: true } })
  })

  t.test('pictures are handed over when the model can see them, and only what is one', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t), { mcp_servers: server.url })
    const jpeg = Buffer.from('ffd8ffe000104a46494600', 'hex').toString('base64')
    const ask = async (data: string, seesImages: boolean): Promise<ToolOutcome> => await tools.call('image', { data }, { signal, seesImages })
    t.match(await ask(jpeg, true), { text: /^\[image 1, shown after the results\]\n\[resource/, images: [`data:image/jpeg;base64,${jpeg}`] }, 'by its bytes')
    t.match(await ask(jpeg, false), { text: /^\[image image\/png, 11 bytes, not shown\]/, images: [] })
    t.match(await ask('AAAA', true), { text: /not shown/, images: [] }, 'a provider would refuse it')
    t.match(await ask('/9j/'.repeat(1_250_000), true), { text: /not shown/, images: [] }, 'too large')
  })

  t.test('a result that is too long is cut between characters, with a note', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t, { resultBytes: 1001 }), { mcp_servers: server.url })
    const { text } = await call(tools, 'flood')
    t.equal(text, `${'é'.repeat(500)}\n[cut: the first 1001 of 100000 bytes]`)
  })

  t.test('a tool that takes too long or loses its connection is an error result', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t, { callMs: 50 }), { mcp_servers: server.url })
    t.match(await call(tools, 'slow'), { text: /in time/, result: { isError: true }, failure: { code: 'call' } })
    await until(() => server.cancelled.length === 1, 'one cancelled tool call')
    t.match(await call(tools, 'drop'), { result: { isError: true }, failure: { code: 'call' } })
    t.match(await call(tools, 'echo'), { text: 'echo: {}' }, 'and the next call works')
  })

  t.test('a caller who leaves cancels the call at the server and closes its socket', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t, { callMs: 60_000 }), { mcp_servers: server.url })
    const leaving = new AbortController()
    const slow = tools.call('slow', {}, { signal: leaving.signal })
    await until(() => server.counts['tool slow'] === 1, 'the slow tool to be called')
    const reason = new Error('gone')
    leaving.abort(reason)
    await t.rejects(slow, reason)
    await until(() => server.cancelled.length === 1 && server.waiting.size === 0, 'the tool call to be cancelled and to end')
    t.match(await call(tools, 'echo'), { text: 'echo: {}' })
    t.equal(server.counts['initialize'], 1)
  })

  t.test('a caller who leaves while servers are being opened does not wait', async t => {
    const server = await startToolServer(t, { silent: ['initialize'] })
    const leaving = new AbortController()
    const opening = open(toolServers(t, { connectMs: 60_000 }), { mcp_servers: server.url }, { signal: leaving.signal })
    await until(() => server.counts['initialize'] === 1, 'the server to be initialized')
    leaving.abort(new Error('gone'))
    await t.rejects(opening, /gone/)
  })

  t.test('progress of a tool is passed on', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t), { mcp_servers: server.url })
    const reported: unknown[] = []
    await tools.call('progress', {}, { signal, onProgress: progress => reported.push(progress) })
    t.match(reported, [{ progress: 1, total: 2 }])
  })
})

t.test('what is sent where', async t => {
  t.test('credentials reach the server they are for, sealed as they came, and no other', async t => {
    const [crm, other] = await Promise.all([startToolServer(t), startToolServer(t)])
    const tools = await open(toolServers(t), {
      mcp_servers: [
        { url: crm.url, name: 'crm', credentials: { inner: 'c2VhbGVk' }, headers: { 'X-Team': 'a', Host: 'evil' }, authorization: 'token' },
        { url: other.url, name: 'other' }
      ],
      credentials: [{ connection_name: 'crm', values: { key: 'AbC', on: true } }, { connection_name: 'nobody', values: { a: 'b' } }]
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

  t.test("the operator's headers go with the slug, not with the address", async t => {
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

  t.test('only allowed tools are offered: what the operator and the caller both allow', async t => {
    const server = await startToolServer(t)
    const servers = toolServers(t, {}, [{ ...remoteServer('org/test', server.url), allowedTools: ['echo', 'fail'] }])
    const tools = await open(servers, { mcp_servers: { slug: 'org/test', allowed_tools: ['fail', 'image'] } })
    t.strictSame(tools.tools.map(tool => tool.function.name), ['fail'])
    t.match(await call(tools, 'image'), { result: { isError: true } })
    t.equal(server.counts['tool image'], undefined)
  })
})

t.test('slugs the operator does not know are looked up in the registry, once', async t => {
  const server = await startToolServer(t)
  const asked: string[] = []
  const answers: Record<string, unknown> = {
    '/v0/servers?search=org%2Ftest&version=latest&limit=100': {
      servers: [{ server: { name: 'io.github.org/test' } }, { server: { name: 'io.github.org/test-more' } }]
    },
    '/v0/servers/io.github.org%2Ftest/versions/1.2.0': {
      server: { name: 'io.github.org/test', remotes: [{ type: 'sse', url: 'http://10.0.0.1/' }, { type: 'streamable-http', url: server.url }] }
    },
    '/v0/servers?search=org%2Fkeyed&version=latest&limit=100': { servers: [{ name: 'org/keyed' }] },
    '/v0/servers/org%2Fkeyed/versions/latest': {
      name: 'org/keyed', remotes: [{ type: 'streamable-http', url: server.url, headers: [{ name: 'X-Key', isRequired: true }] }]
    },
    '/v0/servers?search=org%2Ftwo&version=latest&limit=100': { servers: [{ name: 'a.org/two' }, { name: 'b.org/two' }] }
  }
  const registry = createServer((request, response) => {
    asked.push(request.url ?? '')
    const answer = answers[request.url ?? '']
    response.writeHead(answer === undefined ? 404 : 200).end(JSON.stringify(answer ?? {}))
  })
  await new Promise<void>(resolve => { registry.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => { registry.close() })
  const registryUrl = `http://127.0.0.1:${(registry.address() as AddressInfo).port}` // listening on TCP
  const servers = toolServers(t, { registryUrl })

  t.strictSame((await open(servers, { mcp_servers: 'org/test@1.2.0' })).errors, {})
  t.equal((await open(servers, { mcp_servers: { slug: 'org/test', version: '1.2.0' } })).offered.length, 9)
  t.equal(asked.length, 2)
  t.match(await open(servers, { mcp_servers: 'org/keyed' }), {
    errors: { 'org/keyed': { code: 'resolve', recommendation: /X-Key/ } }
  })
  t.equal((await open(servers, { mcp_servers: { slug: 'org/keyed', headers: { 'x-key': 'k' } } })).offered.length, 9)
  t.match((await open(servers, { mcp_servers: ['org/two', 'org/none'] })).errors, {
    'org/two': { recommendation: /a\.org\/two, b\.org\/two/ }, 'org/none': { code: 'resolve' }
  })
})

function toolServers (t: Test, tools: Partial<ToolSettings> = {}, toolServers: ToolServerSettings[] = []): ToolServers {
  const defaults = settings().tools
  const servers = createToolServers({
    toolServers,
    tools: {
      ...defaults, connectMs: 20_000, callMs: 20_000, listTtlMs: 60_000, sessionIdleMs: 60_000, allowedHosts: ['127.0.0.1'], ...tools
    }
  })
  t.teardown(async () => await servers.close())
  return servers
}

function remoteServer (slug: string, url: string, parts: Partial<ToolServerSettings> = {}): ToolServerSettings {
  return { slug, url, headers: {}, args: [], env: {}, shareSessions: false, ...parts }
}

async function open (
  servers: ToolServers, request: OpenOptions['request'], options: Partial<OpenOptions> = {}
): Promise<OpenTools> {
  return await servers.open({ request, key: { id: 'key' }, taken: new Set(), signal, ...options })
}

async function call (tools: OpenTools, name: string, args: Record<string, unknown> = {}): Promise<ToolOutcome> {
  return await tools.call(name, args, { signal })
}

/** Speaks the protocol over its standard streams, and notes each start in a file. */
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

async function closedPort (): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  const { port } = server.address() as AddressInfo // listening on TCP
  await new Promise(resolve => { server.close(resolve) })
  return port
}

