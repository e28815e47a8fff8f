/** Servers that are child processes, both sloppy and hostile ones. */

import { join } from 'node:path'
import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { property, type JsonObject } from '../../lib/json/type-guards.ts'
import { listTooLargeCode, noMemoryCode } from '../../lib/mcp/repair-message.ts'
import { until } from '../support/until.ts'
import { withoutDescriptors } from '../support/without-descriptors.ts'
import { call, open, toolServers } from '../support/tool-servers.ts'
import { CommandTransport } from '../../lib/mcp/command-transport.ts'
import type { OpenTools } from '../../lib/mcp/tool-servers.ts'
import type { Test } from 'tap'

/** Answers as its argument says: results by method, in JavaScript. */
const program = `
import { createInterface } from 'node:readline'
const lies = JSON.parse(process.argv[2])
process.stdout.write('Server starting ...\\n[INFO] {"listening": true}\\n\\n')
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  process.stdout.write('DEBUG: got ' + method + '\\n')
  const usual = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
    'tools/list': { tools: [{ name: 'count', inputSchema: { type: 'object', properties: {} } }] },
    'tools/call': { content: [{ type: 'text', text: 'counted' }] }
  }[method]
  if (lies[method] === 'exit') process.exit(1)
  if (lies[method] === 'half') { process.stdout.write('{"jsonrpc":"2.0","id":' + id); process.exit(0) }
  const result = usual && { ...usual, ...lies[method] }
  if (lies.envelope?.[method] !== undefined) {
    const { isAbsent, ...others } = lies.envelope[method]
    const answer = { jsonrpc: '2.0', id, ...isAbsent ? {} : { result }, ...others }
    process.stdout.write(JSON.stringify({ level: 30, msg: 'answering' }) + '\\n')
    process.stdout.write(JSON.stringify(lies.list === true ? [answer] : answer) + '\\n')
    return
  }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: lies.id === 'text' ? String(id) : id, ...result ? { result } : { error: { code: -32601, message: 'no' } } }) + '\\n')
})
`

function start (
  t: Test,
  lies: Readonly<Record<string, unknown>>,
  connectMs?: number
): () => Promise<OpenTools> {
  const script = join(t.testdir({ 'server.mjs': program }), 'server.mjs')
  const servers = toolServers(t, connectMs === undefined ? {} : { connectMs }, [
    {
      slug: 'a/local',
      command: process.execPath,
      args: [script, JSON.stringify(lies)],
      headers: {},
      env: {},
      shared: true
    }
  ])
  return async () => await open(servers, { mcp_servers: 'a/local' })
}

t.test(
  'log lines among the messages, unknown members and string ids lose neither tools nor results',
  async t => {
    const nulls = {
      initialize: { capabilities: null, instructions: null },
      'tools/list': {
        tools: [null, { name: 'count', description: null, inputSchema: null, annotations: null }],
        nextCursor: null
      },
      'tools/call': { content: null, structuredContent: ['counted'], isError: null }
    }
    for (const [lies, text] of [
      [{}, 'counted'],
      [{ id: 'text' }, 'counted'],
      [nulls, '["counted"]']
    ] as const) {
      const tools = await start(t, lies)()
      t.strictSame(
        tools.tools.map(tool => tool.function.name),
        ['count']
      )
      t.equal((await call(tools, 'count')).text, text)
      t.match(
        tools.errors,
        lies === nulls
          ? { 'a/local': { message: /^These tools of the server have no name, .*: number 1\.$/ } }
          : {}
      )
    }
  }
)

t.test(
  'a process that exits during a call fails it at once, and another is started for the next call',
  async t => {
    for (const end of ['exit', 'half']) {
      const opened = start(t, { 'tools/call': end })
      for (let time = 0; time < 2; time++) {
        const tools = await opened()
        t.equal(tools.tools.length, 1)
        t.match(
          await call(tools, 'count'),
          { failure: { code: 'call', message: 'The tool server ended the connection before its answer.' } },
          end
        )
      }
    }
  }
)

t.test('an answer in another envelope is read or fails at once', async t => {
  const counted = { text: 'counted', failure: undefined }
  const message = 'The answer of the tool server was not valid JSON-RPC.'
  const broken = { failure: { code: 'call', message } }
  const rows: ReadonlyArray<readonly [name: string, change: object, outcome: object, isList?: boolean]> = [
    ['as it should be', {}, counted],
    ['no version', { jsonrpc: null }, counted],
    ['another version', { jsonrpc: '1.0' }, counted],
    ['no error beside a result', { error: null }, counted],
    ['a list', {}, counted, true],
    ['an error that is a text', { isAbsent: true, error: 'no' }, { result: { isError: true, result: /no/ } }],
    ['neither', { isAbsent: true, error: null }, broken],
    ['no id', { id: null }, broken]
  ]
  for (const [name, change, outcome, list = false] of rows) {
    const tools = await start(t, { envelope: { 'tools/call': change }, list })()
    t.match(await call(tools, 'count'), outcome, name)
  }
  const listed = await start(t, { envelope: { 'tools/list': { id: null } } })()
  t.match(listed.errors, { 'a/local': { code: 'list', message } })
})

t.test(
  'a process that does not name its protocol revision is treated as an earlier one',
  async t => {
    const tools = await start(t, { envelope: { 'server/discover': { error: 'unknown method' } } }, 6000)()
    t.equal((await call(tools, 'count')).text, 'counted')
  }
)

t.test('a process that exits when asked for its revision is restarted and not asked again', async t => {
  const tools = await start(t, { 'server/discover': 'exit' })()
  t.equal((await call(tools, 'count')).text, 'counted')
})

/** Runs a JavaScript program as a transport. */
async function run (
  t: Test,
  program: string,
  { maxBytes = 1e6, maxHeld = Infinity }: { maxBytes?: number, maxHeld?: number } = {}
) {
  let held = 0
  let highest = 0
  const memory = {
    take: (bytes: number): void => {
      if (held + bytes > maxHeld) throw new GatewayError('overloaded')
      held += bytes
      highest = Math.max(highest, held)
    },
    release: (bytes: number): void => { held -= bytes }
  }
  const transport = new CommandTransport({
    command: process.execPath,
    args: ['--input-type=module', '--eval', program],
    env: {},
    maxBytes,
    memory,
    listing: { leftOut: new Set(), bytes: 0, maxBytes },
    graceMs: 100
  })
  const messages: JsonObject[] = []
  let isClosed = false
  /* oxlint-disable unicorn/prefer-add-event-listener -- a transport is no EventTarget */
  transport.onmessage = message => { messages.push(message) }
  transport.onclose = () => { isClosed = true }
  /* oxlint-enable unicorn/prefer-add-event-listener */
  t.teardown(async () => await transport.close())
  await transport.start()
  return {
    transport,
    messages,
    isClosed: () => isClosed,
    held: () => ({ held, highest }),
    error: async () => {
      await until(() => messages.length > 0, 'an answer')
      return property(messages[0]?.['error'], 'code')
    }
  }
}

const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} } as const
const answer = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'

t.test('a line with too many values or levels is skipped, and its request fails at once', async t => {
  const lines = [
    ['objects', "'{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[' + '{},'.repeat(300_000) + '{}]}'"],
    ['levels', "'{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":' + '['.repeat(5000) + ']'.repeat(5000) + '}'"]
  ] as const
  for (const [name, line] of lines) {
    const server = await run(t, `
      process.stdin.once('data', () => process.stdout.write(${line} + '\\n'))
      process.stdin.on('data', data => String(data).includes('"id":2') && process.stdout.write(
        '{"jsonrpc":"2.0","id":2,"result":{"content":[]}}\\n'
      ))
    `)
    await server.transport.send(request)
    t.equal(await server.error(), listTooLargeCode, name)
    await server.transport.send({ ...request, id: 2 })
    await until(() => server.messages.length === 2, 'the next answer')
    t.match(server.messages[1], { id: 2, result: { content: [] } }, name)
    t.equal(server.held().held, 0)
  }
})

t.test('an endless line closes the session, and its bytes count as memory', async t => {
  const endless = "setInterval(() => process.stdout.write('['.padEnd(50_000, ' ')), 1)"
  const long = await run(t, endless, { maxBytes: 300_000 })
  await long.transport.send(request)
  t.equal(await long.error(), listTooLargeCode)
  await until(long.isClosed, 'the end of the session')
  t.ok(long.held().highest > 400_000)
  t.equal(long.held().held, 0)

  const short = await run(t, endless, { maxHeld: 100_000 })
  await short.transport.send(request)
  t.equal(await short.error(), noMemoryCode)
  t.ok(short.held().highest <= 100_000)
})

t.test('a session ends with its process, even if a child process keeps the pipes open', async t => {
  const helper = "setInterval(() => process.stdout.write('{}\\n'.repeat(5000)), 1)"
  const server = await run(t, `
    import { spawn } from 'node:child_process'
    const helper = spawn(process.execPath, ['-e', ${JSON.stringify(helper)}], { stdio: 'inherit' })
    process.stdin.once('data', () => {
      process.stdout.write('${answer}\\n{"jsonrpc":"2.0","method":"helper","params":{"pid":' + helper.pid + '}}\\n')
      setTimeout(() => process.exit(), 50)
    })
  `)
  await server.transport.send(request)
  await until(server.isClosed, 'the end of the session')
  t.ok(server.transport.endedByItself)
  t.match(server.messages[0], { id: 1, result: {} }, 'what it wrote before')
  const pid = Number(property(server.messages[1]?.['params'], 'pid'))
  await server.transport.close()
  await until(() => !isRunning(pid), 'the helper to end, whose pipe is closed')
  await t.rejects(server.transport.send(request), /ended/)
})

function isRunning (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('for a process that reads nothing, neither replies nor requests pile up', async t => {
  const server = await run(t, 'setInterval(() => {}, 1000)', { maxBytes: 300_000 })
  const { transport } = server
  const sent: Array<Promise<void>> = []
  for (let id = 0; id < 1000; id++) sent.push(transport.send({ jsonrpc: '2.0', id, result: {} }))
  await Promise.all(sent.slice(100))
  const params = { text: 'x'.repeat(400_000) }
  sent.push(transport.send({ ...request, params }))
  const ends = Promise.allSettled(sent)
  await t.rejects(transport.send({ ...request, id: 2 }), /does not read its input/)
  t.ok(server.isClosed())
  await transport.close()
  t.ok((await ends).some(({ status }) => status === 'rejected'), 'no write waits for ever')
})

t.test('a message that closes the session releases its memory', async t => {
  const server = await run(t, `
    process.stdin.once('data', () => process.stdout.write('${answer}\\n${answer}\\n{"open'))
  `)
  const { transport } = server
  let closed: Promise<void> | undefined
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no EventTarget
  transport.onmessage = () => { closed = transport.close() }
  await transport.send(request)
  await until(() => closed !== undefined, 'the answer')
  await closed
  t.same(server.held(), { held: 0, highest: 2 * answer.length })
})

t.test('output written before the process exited is read, however busy the gateway is', async t => {
  const server = await run(t, `
    const line = JSON.stringify({ jsonrpc: '2.0', method: 'log', params: { text: 'x'.repeat(8000) } }) + '\\n'
    process.stdin.once('data', () => process.stdout.write(line.repeat(60) + '${answer}\\n', () => process.exit()))
  `)
  const read: JsonObject[] = []
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no EventTarget
  server.transport.onmessage = message => {
    read.push(message)
    const endMs = performance.now() + 25
    while (performance.now() < endMs) ;
  }
  await server.transport.send(request)
  await until(server.isClosed, 'the end of the session')
  t.equal(read.length, 61)
  t.match(read.at(-1), { id: 1, result: {} })
})

t.test('output is read even if each turn takes longer than the wait for more', async t => {
  const server = await run(t, `
    const line = JSON.stringify({ jsonrpc: '2.0', method: 'log', params: { text: 'x'.repeat(16_000) } }) + '\\n'
    process.stdin.once('data', () => process.stdout.write(line.repeat(11) + '${answer}\\n', () => process.exit()))
  `)
  const read: JsonObject[] = []
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no EventTarget
  server.transport.onmessage = message => {
    read.push(message)
    const endMs = performance.now() + 300
    while (performance.now() < endMs) ;
  }
  await server.transport.send(request)
  await until(server.isClosed, 'the end of the session')
  t.equal(read.length, 12)
  t.match(read.at(-1), { id: 1, result: {} })
})

t.test('a session is closed only when its process has exited, even if that ignores SIGTERM', async t => {
  const server = await run(t, `
    process.on('SIGTERM', () => {})
    setInterval(() => {}, 1000)
    process.stdout.write('{"jsonrpc":"2.0","method":"ready"}\\n')
  `)
  await until(() => server.messages.length === 1, 'the process to listen')
  const pid = Number(server.transport.pid)
  await server.transport.close()
  t.notOk(isRunning(pid))
})

t.test('a command that cannot start for lack of file descriptors is reported as such', async t => {
  t.equal(await withoutDescriptors(`
    const { CommandTransport } = await import(${JSON.stringify(import.meta.resolve('../../lib/mcp/command-transport.js'))})
    const transport = new CommandTransport({
      command: process.execPath, args: [], env: {}, maxBytes: 1000,
      memory: { take () {}, release () {} }, listing: { leftOut: new Set(), bytes: 0, maxBytes: 1000 }
    })
  `, 'transport.start()', 'transport.close()'), 'EMFILE')
})
