/**
 * Tool servers that deviate from the protocol, over real sockets: a tool is offered and its result read, or
 * the failure says what is wrong.
 */

import { createServer } from 'node:http'
import { performance } from 'node:perf_hooks'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { call, open, toolServers } from '../support/tool-servers.ts'
import { outlast, until } from '../support/until.ts'
import { at, changed as changedAt, changes, pathsOf, skip } from '../support/sloppy-changes.ts'
import type { Test } from 'tap'

interface Message {
  readonly id?: number
  readonly method: string
}

interface Answer {
  readonly status?: number
  readonly type?: string
  readonly body: string
  /** True: the connection is cut after the body. */
  readonly breaksOff?: boolean
  /** True: nothing ends the body. */
  readonly staysOpen?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

type Behaviour = (message: Message, usual: unknown, number: number) => Answer | undefined

const text = 'the answer is 5'

function usualResult ({ method }: Message): unknown {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' }
      }
    case 'tools/list':
      return {
        tools: [{ name: 'count', description: 'Counts.', inputSchema: { type: 'object', properties: {} } }]
      }
    case 'tools/call':
      return { content: [{ type: 'text', text }] }
    default:
      return undefined
  }
}

/** Returns how a server with this behaviour fares. */
async function start (t: Test, behaviour: Behaviour) {
  const seen: Record<string, number> = {}
  const server = createServer((request, response) => {
    void (async () => {
      if (request.method !== 'POST') return response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
      const message = await json(request) as Message // written by the client library
      const number = seen[message.method] = (seen[message.method] ?? 0) + 1
      if (message.id === undefined) return response.writeHead(202).end()
      const result = usualResult(message)
      const usual = {
        jsonrpc: '2.0',
        id: message.id,
        ...(result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result })
      }
      const {
        status = 200,
        type = 'application/json',
        body,
        breaksOff = false,
        staysOpen = false,
        headers
      } = behaviour(message, usual, number) ?? { body: JSON.stringify(usual) }
      response.writeHead(status, { 'content-type': type, ...headers })
      if (staysOpen) return response.write(body)
      return breaksOff ? response.write(body, () => request.socket.destroy()) : response.end(body)
    })()
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const servers = toolServers(t)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return {
    seen,
    open: async () => await open(servers, { mcp_servers: url }),
    connections: async () => await promisify(server.getConnections.bind(server))()
  }
}

const frame = (message: unknown): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`
const streamType = 'text/event-stream'

/** Equivalent forms of an answer. */
const forms: ReadonlyArray<readonly [string, (usual: object) => Answer]> = [
  ['JSON', usual => ({ body: JSON.stringify(usual) })],
  ['JSON called an event stream', usual => ({ type: streamType, body: JSON.stringify(usual) })],
  ['JSON called text', usual => ({ type: 'text/plain', body: ` \n${JSON.stringify(usual)}` })],
  ['events', usual => ({ type: streamType, body: frame(usual) })],
  ['events called JSON', usual => ({ body: frame(usual) })],
  ['events without an end', usual => ({ type: streamType, body: `: hi\n\ndata: ${JSON.stringify(usual)}` })],
  [
    'events after empty ones',
    usual => ({ type: streamType, body: `id: 1\nretry: 10\ndata:\n\ndata: null\n\n${frame(usual)}` })
  ],
  ['an id as text', usual => ({ body: JSON.stringify({ ...usual, id: String(Reflect.get(usual, 'id')) }) })],
  ['an id that is null', usual => ({ body: JSON.stringify({ ...usual, id: null }) })],
  ['no version', usual => ({ body: JSON.stringify({ ...usual, jsonrpc: undefined }) })],
  [
    'an error that is null',
    usual => ({ body: JSON.stringify('error' in usual ? usual : { ...usual, error: null }) })
  ],
  ['a list', usual => ({ body: JSON.stringify([usual]) })],
  ['CRLF', usual => ({ type: `${streamType}; charset=utf-8`, body: frame(usual).replaceAll('\n', '\r\n') })]
]

t.test('an answer is read in any form and in every phase', async t => {
  for (const [name, form] of forms) {
    const server = await start(t, (_, usual) => form(usual as object))
    const tools = await server.open()
    t.strictSame(tools.errors, {}, name)
    t.equal((await call(tools, 'count')).text, text, name)
  }
})

/** Values that sloppy servers send in place of others. */
const odd = [null, '', 'x', 0, true, [], {}, [null], [5], { a: null }]

/** Returns the value with one member changed somewhere in it. */
function changed (value: unknown, place: number, member: unknown): unknown {
  let left = place
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, left-- === 0 ? member : walk(inner)])
    )
  }
  return walk(value)
}

/** True if the change leaves a list without tools, which is valid. */
function isEmptyList (place: number, member: unknown): boolean {
  const { result } = Object(
    changed({ jsonrpc: '2.0', id: 1, result: usualResult({ method: 'tools/list' }) }, place, member)
  )
  return [result, Object(result).tools].some(list => ['[]', '{}'].includes(JSON.stringify(list) ?? ''))
}

t.test(
  'with one member of an answer changed, the tool is offered and read, or the failure is reported',
  async t => {
    const messages = fc.constantFrom('initialize', 'tools/list', 'tools/call')
    await fc.assert(
      fc.asyncProperty(
        messages,
        fc.nat(8),
        fc.constantFrom(...odd),
        fc.constantFrom(...forms),
        async (method, place, member, [, form]) => {
          const server = await start(t, (message, usual) =>
            message.method === method ? form(changed(usual, place, member) as object) : undefined
          )
          const { tools, errors, ...rest } = await server.open()
          const [tool] = tools
          if (tool === undefined) {
            return Object.keys(errors).length > 0 || (method === 'tools/list' && isEmptyList(place, member))
          }
          const outcome = await call({ tools, errors, ...rest }, tool.function.name)
          return (
            outcome.text === text ||
            outcome.result.isError ||
            (method === 'tools/call' && outcome.text !== '')
          )
        }
      ),
      { numRuns: 60, seed: 1 }
    )
  }
)

t.test('a result with one member of a block changed is read, and no other block is lost', async t => {
  const pixel = Buffer.from('GIF89a\u0001').toString('base64')
  const result = {
    content: [
      { type: 'text', text: 'first words', annotations: { audience: ['user'], priority: 1 } },
      { type: 'image', data: pixel, mimeType: 'image/gif' },
      { type: 'audio', data: pixel, mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'a:b', mimeType: 'text/plain', text: 'inside words' } },
      { type: 'resource', resource: { uri: 'a:c', mimeType: 'a/b', blob: pixel } },
      {
        type: 'resource_link',
        uri: 'a:d',
        name: 'linked words',
        title: 'a',
        description: 'b',
        mimeType: 'a/b',
        size: 5
      },
      { type: 'text', text: 'last words' }
    ],
    structuredContent: { structured: 'structured words' },
    isError: false,
    _meta: { a: 1 }
  }
  const words = ['first words', 'inside words', 'linked words', 'last words', 'structured words']
  let current: unknown = result
  const server = await start(t, ({ method, id }) =>
    method === 'tools/call'
      ? { body: JSON.stringify({ jsonrpc: '2.0', id, result: current }) }
      : undefined
  )
  const tools = await server.open()
  const more = {
    'no base64': () => '<svg>&',
    'base64 of URLs': (before: unknown) => before === pixel ? '-_-_-w' : skip,
    'a data URL': (before: unknown) => before === pixel ? `data:image/gif;base64,${pixel}` : skip,
    'in lines': (before: unknown) => before === pixel ? `${pixel.slice(0, 4)}\r\n${pixel.slice(4)}\n` : skip
  }
  const faults: string[] = []
  for (const path of pathsOf(result)) {
    const before = at(result, path)
    for (const [name, change] of Object.entries({ ...changes, ...more })) {
      const member = change(before)
      if (member === skip) continue
      current = changedAt(result, path, member)
      const { text, failure } = await call(tools, 'count')
      const destroyed = JSON.stringify(before) ?? ''
      if (path.at(-1) === 'type' && member !== null && member !== undefined) continue // an unknown type
      const lost = words.filter(word => !destroyed.includes(word) && !text.includes(word))
      if (failure !== undefined || lost.length > 0) {
        faults.push(`${path.join('.')}: ${name}: ${failure?.message ?? `without ${lost.join()} in ${text}`}`)
      }
    }
  }
  t.same(faults, [])
})

t.test('an expired session is reopened, however the server reports it', async t => {
  for (const [name, gone] of [
    ['events', { type: streamType, body: frame({ error: 'Session not found' }) }],
    [
      'JSON-RPC',
      {
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: null,
          error: { code: -32001, message: 'Session expired' }
        })
      }
    ],
    [
      'status 400',
      {
        status: 400,
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: null,
          error: { code: -32000, message: 'Bad Request: No valid session ID provided' }
        })
      }
    ],
    ['status 404', { status: 404, body: 'gone' }]
  ] as const) {
    const server = await start(t, ({ method }, _, number) =>
      method === 'tools/call' && number === 2 ? gone : undefined
    )
    for (let request = 0; request < 2; request++) {
      t.equal((await call(await server.open(), 'count')).text, text, name)
    }
    t.equal(server.seen['initialize'], 2, name)
  }
})

t.test('an answer without a result fails at once, and the session is not reused', async t => {
  for (const nothing of [
    { type: streamType, body: ': hi\n\n' },
    { type: streamType, body: '' },
    { body: '{}' },
    { body: '' },
    { status: 202, body: '' },
    { body: '[]' },
    { body: JSON.stringify({ jsonrpc: '2.0', id: 99, result: {} }) }
  ]) {
    const server = await start(t, ({ method }, _, number) =>
      method === 'tools/call' && number === 1 ? nothing : undefined
    )
    t.match(
      await call(await server.open(), 'count'),
      { failure: { code: 'call', message: 'The tool server ended its answer without a result.' } },
      JSON.stringify(nothing)
    )
    t.equal((await call(await server.open(), 'count')).text, text)
    t.equal(server.seen['initialize'], 2)
  }
})

t.test(
  'a JSON-RPC error reaches the model under any status, and one for another request shows its code',
  async t => {
    const refusal = (id: unknown): string =>
      JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message: 'path is required' } })
    for (const status of [200, 400, 422, 429, 500]) {
      const server = await start(t, ({ method, id }) =>
        method === 'tools/call' ? { status, body: refusal(id) } : undefined
      )
      t.match(
        await call(await server.open(), 'count'),
        { text: 'The tool call failed: path is required', result: { isError: true }, failure: undefined },
        String(status)
      )
    }
    const server = await start(t, ({ method, id }) =>
      method === 'tools/list' ? { body: refusal(id) } : undefined
    )
    t.match(Object.values((await server.open()).errors), [
      { code: 'list', message: 'The tool server refused the request (JSON-RPC error -32602).' }
    ])
    for (const [status, message] of [
      [401, /refused access/],
      [503, /HTTP 503/]
    ] as const) {
      const server = await start(t, ({ method }) =>
        method === 'tools/call' ? { status, body: 'no' } : undefined
      )
      t.match(await call(await server.open(), 'count'), { failure: { message } })
    }
  }
)

t.test('a result without the declared structured content is read', async t => {
  const outputSchema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] }
  const tools = [{ name: 'count', inputSchema: { type: 'object' }, outputSchema }]
  const server = await start(t, ({ method, id }) => (
    method === 'tools/list' ? { body: JSON.stringify({ jsonrpc: '2.0', id, result: { tools } }) } : undefined
  ))
  t.match(await call(await server.open(), 'count'), { text, result: { isError: false }, failure: undefined })
})

t.test('tools without a name are reported by position, and the others are offered', async t => {
  const server = await start(t, ({ method, id }) =>
    method === 'tools/list'
      ? {
          body: JSON.stringify({
            jsonrpc: '2.0',
            id,
            result: { tools: [{ description: 'a' }, { name: 'count' }, null] }
          })
        }
      : undefined
  )
  const tools = await server.open()
  t.strictSame(
    tools.tools.map(tool => tool.function.name),
    ['count']
  )
  t.match(Object.values(tools.errors), [
    { code: 'list', message: /^These tools of the server have no name, .*: number 1, number 3\.$/ }
  ])
})

t.test('a stream that is cut, too long or invalid fails its call at once', async t => {
  const long = frame({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'x'.repeat(40_000) }
  })
  for (const body of ['x\n'.repeat(5000), long.repeat(500)]) {
    const behaviour: Behaviour = ({ method }) =>
      method === 'tools/call' ? { type: streamType, body } : undefined
    t.match(await call(await (await start(t, behaviour)).open(), 'count'), {
      failure: { code: 'call', message: 'The tool server ended its answer without a result.' }
    })
  }
  const cut = frame({ jsonrpc: '2.0', method: 'notifications/message', params: {} })
  const behaviour: Behaviour = ({ method }) =>
    method === 'tools/call' ? { type: streamType, body: cut, breaksOff: true } : undefined
  t.match(await call(await (await start(t, behaviour)).open(), 'count'), {
    failure: { code: 'call', message: 'The tool server ended its answer without a result.' }
  })
})

t.test('a server that never ends its streams keeps no sockets beyond its answers', async t => {
  const behaviour: Behaviour = ({ method }, usual) =>
    method === 'tools/call' ? { type: streamType, body: frame(usual), staysOpen: true } : undefined
  const server = await start(t, behaviour)
  const tools = await server.open()
  const others = await server.connections()
  for (let count = 0; count < 20; count++) t.equal((await call(tools, 'count')).text, text)
  t.ok(await server.connections() >= 20)
  await until(async () => await server.connections() <= others, 'the sockets to be closed')
})

t.test('a connection reset after an answer has no effect', async t => {
  const unhandled: unknown[] = []
  const onUnhandled = (error: unknown): void => { unhandled.push(error) }
  process.on('unhandledRejection', onUnhandled)
  t.teardown(() => process.off('unhandledRejection', onUnhandled))
  const behaviour: Behaviour = ({ method }, usual) =>
    method === 'tools/call' ? { type: streamType, body: frame(usual), breaksOff: true } : undefined
  const tools = await (await start(t, behaviour)).open()
  t.equal((await call(tools, 'count')).text, text)
  await outlast(1000)
  t.same(unhandled, [])
})

t.test('a refusal for a missing scope is an ordinary error and starts no sign-in', async t => {
  for (const status of [401, 403]) {
    const behaviour: Behaviour = ({ method }) =>
      method === 'tools/call'
        ? {
            status,
            body: '{}',
            headers: {
              'www-authenticate':
                'Bearer error="insufficient_scope", scope="x", resource_metadata="http://127.0.0.1:1/"'
            }
          }
        : undefined
    const { failure } = await call(await (await start(t, behaviour)).open(), 'count')
    t.match(failure, { message: `The tool server refused access (HTTP ${status}).`, recommendation: /credentials/ })
  }
})

t.test('an answer is read even if the rest of the chunk is invalid', async t => {
  const asks = (count: number): string => 'data: {"id":"s","method":"x"}\n\n'.repeat(count)
  const behaviour: Behaviour = ({ method }, usual) =>
    method === 'tools/call' ? { type: streamType, body: asks(990) + frame(usual) + asks(20) } : undefined
  t.equal((await call(await (await start(t, behaviour)).open(), 'count')).text, text)
})

t.test('endless messages delay no other work', async t => {
  const text = frame({ jsonrpc: '2.0', id: 'other', result: {} }).repeat(8000)
  const behaviour: Behaviour = ({ method }, usual) =>
    method === 'tools/call' ? { type: streamType, body: text + frame(usual) } : undefined
  const tools = await (await start(t, behaviour)).open()
  const turns = performance.eventLoopUtilization()
  let count = 0
  let isOver = false
  const next = (): void => {
    count++
    if (!isOver) setImmediate(next)
  }
  next()
  await call(tools, 'count')
  isOver = true
  const { active } = performance.eventLoopUtilization(turns)
  t.ok(count >= text.length / 16_384, `${text.length} bytes in ${count} turns, ${active} ms of work`)
})

t.test('a server that sends endless requests beside its answer is abandoned', async t => {
  const ask = (id: number): string =>
    frame({ jsonrpc: '2.0', id: `s${id}`, method: 'sampling/createMessage', params: {} })
  const answer =
    (count: number): Behaviour =>
    ({ method }, usual) =>
      method === 'tools/call'
        ? {
            type: streamType,
            body: Array.from({ length: count }, (_, id) => ask(id)).join('') + frame(usual)
          }
        : undefined
  t.equal((await call(await (await start(t, answer(3))).open(), 'count')).text, text, 'a few are refused')
  t.match(await call(await (await start(t, answer(2000))).open(), 'count'), {
    failure: { code: 'call', message: 'The tool server ended its answer without a result.' }
  })
})
