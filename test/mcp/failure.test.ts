import { createServer } from 'node:http'
import t from 'tap'
import { asFailure } from '../../lib/mcp/failure.ts'
import { startToolServer } from '../support/tool-server.ts'
import { call, open, toolServers } from '../support/tool-servers.ts'
import type { AddressInfo } from 'node:net'

t.test('failing servers are reported with the phase and delay no call', async t => {
  const good = await startToolServer(t)
  const refusing = await startToolServer(t, { status: 401 })
  const broken = await startToolServer(t, { status: 500 })
  const lost = await startToolServer(t, { status: 404 })
  const lying = await startToolServer(t, { lies: { initialize: { protocolVersion: 7 } } })
  const garbled = await startToolServer(t, { lies: { 'tools/list': { tools: 'many' } } })
  const hanging = await startToolServer(t, { silent: ['tools/list'] })
  const mute = await startToolServer(t, { silent: ['server/discover'] })
  const named = [
    { good },
    { refusing },
    { broken },
    { lost },
    { lying },
    { garbled },
    { hanging },
    { mute }
  ].flatMap(entry => Object.entries(entry).map(([name, { url }]) => ({ name, url })))
  const servers = toolServers(t, { connectMs: 5000, allowedHosts: ['127.0.0.0/8'] })
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
  t.equal(lost.counts['HTTP 404'], 3, 'called once in each way a server may be spoken to')
  t.match(errors['gone'], { message: /ECONNREFUSED/ })
  t.match(errors['inner'], { message: /not public/, recommendation: /allowed_hosts/ })
  t.match(errors['mute'], { message: /in time/ })
  t.notMatch(JSON.stringify(errors), /secret words|pass@/)
})

t.test('a server that cannot be used says why, and whether its address is right', async t => {
  const unknown = { protocolVersion: '2099-01-01', capabilities: {}, serverInfo: { name: 'x', version: '1' } }
  const later = await startToolServer(t, { lies: { initialize: unknown } })
  const endless = await startToolServer(t, {
    more: Array.from({ length: 60 }, (_, index) => `tool${index}`),
    pageSize: 1
  })
  const { errors } = await open(toolServers(t), {
    mcp_servers: [{ name: 'later', url: later.url }, { name: 'endless', url: endless.url }]
  })
  t.match(errors, {
    later: { code: 'initialize', message: /a version of the MCP protocol that the gateway does not know/ },
    endless: { code: 'list', message: 'The tool list of the tool server has too many pages.' }
  })
  for (const code of [
    'UNSUPPORTED_RESULT_TYPE',
    'CAPABILITY_NOT_SUPPORTED',
    'INPUT_REQUIRED_ROUNDS_EXCEEDED'
  ]) {
    t.match(asFailure(Object.assign(new Error('of the client library'), { code }), 'call').toError(), {
      code: 'call',
      message: 'The tool needs input from its user, or answers later. Neither is available here.'
    })
  }
})

t.test('a port that HTTP clients block is reported as such', async t => {
  const { errors } = await open(toolServers(t), {
    mcp_servers: { url: 'http://127.0.0.1:9/mcp', name: 'discard' }
  })
  t.match(errors, {
    discard: { message: 'The tool server could not be reached: HTTP clients do not connect to its port.' }
  })
})

t.test(
  'a JSON-RPC error of a tool is not retried and keeps the session, whatever its message',
  async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t), { mcp_servers: server.url })
    const errors = [
      { code: -32603, message: 'GitHub API failed (HTTP 404)' },
      { code: -32000, message: 'Not found', data: { status: 404 } },
      { code: -32000, message: 'No such session', data: { status: 400 } },
      { code: -32000, message: 'Browser session closed' },
      { code: -32000, message: 'Checkout session expired' },
      { code: -32000, message: 'Database session terminated' },
      { code: -32000, message: 'Not found', data: { cause: { status: 404 } } },
      { code: -32000, message: 'Broken', data: { cause: { code: 'ECONNRESET' } } },
      { code: 404, message: 'Not found' }
    ]
    for (const [index, error] of errors.entries()) {
      const { text, failure } = await call(tools, 'refuse', { error })
      t.match(text, `The tool call failed: ${error.message}`, 'the model reads it')
      t.equal(failure, undefined)
      t.equal(server.counts['tool refuse'], index + 1, error.message)
    }
    t.match(await call(tools, 'echo'), { text: 'echo: {}' })
    t.equal(server.counts['initialize'], 1)
    t.equal(server.counts['DELETE'], undefined)
  }
)

async function closedPort (): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo // listening on TCP
  await new Promise(resolve => {
    server.close(resolve)
  })
  return port
}
