/** What callers cannot do to a process with 512 MB of heap, with default settings. */

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { testKey } from '../support/gateway.ts'
import { raw, requestText } from '../support/raw.ts'
import { shortRun } from '../support/rounds.ts'

const program = fileURLToPath(new URL('../support/small-gateway.js', import.meta.url))
const path = '/v1/chat/completions'

/** A chat request with an extra value in an unknown field. */
function withField (text: string): Buffer {
  return Buffer.from(`{"model":"sandbox/echo","messages":"x","zz":${text}}`)
}

const keys = (count: number): string =>
  `{${Array.from({ length: count }, (_, number) => `"k${number}":1`).join()}}`
const empty = withField(`[${'{},'.repeat(8_000_000)}{}]`)
const messages = (count: number): Buffer =>
  Buffer.from(
    `{"model":"sandbox/echo","max_tokens":5,"messages":[${Array.from({ length: count }, () => '{"role":"user","content":"x"}').join()}]}`
  )

interface Attack {
  readonly times: number
  readonly body: Buffer
  readonly gzip?: true
  /** Every answer is one of these. */
  readonly statuses: readonly number[]
}

const attacks: Readonly<Record<string, Attack>> = {
  '24 MB of empty objects, compressed to 24 KB': {
    times: 12,
    body: gzipSync(empty),
    gzip: true,
    statuses: [413]
  },
  '24 MB of empty objects': { times: 4, body: empty, statuses: [413] },
  'as many empty objects as there may be': {
    times: 8,
    body: withField(`[${'{},'.repeat(50_000)}{}]`),
    statuses: [200, 422, 503]
  },
  'as many distinct keys as there may be': {
    times: 8,
    body: withField(keys(50_000)),
    statuses: [200, 422, 503]
  },
  'lists within lists within lists': {
    times: 8,
    body: withField('['.repeat(60_000) + ']'.repeat(60_000)),
    statuses: [400, 503]
  },
  '16 MB of text': {
    times: 8,
    body: withField(JSON.stringify('é'.repeat(30_000)).concat(',').repeat(260).replace(/^/, '[') + '0]'),
    statuses: [200, 413, 422, 503]
  },
  'one string of 48 MB': {
    times: 6,
    body: withField(`"${'x'.repeat(48e6)}"`),
    statuses: [200, 413, 422, 503]
  },
  '80,000 messages': { times: 8, body: messages(80_000), statuses: [200, 400, 413, 422, 503] }
}

t.test(
  'a gateway with 512 MB of heap survives whatever a caller with a key can send, and answers the next call',
  { timeout: 240_000, skip: shortRun },
  async t => {
    const child = fork(program, [], {
      execArgv: ['--max-old-space-size=512'],
      env: { ...process.env, NODE_OPTIONS: '' }
    })
    t.teardown(() => {
      child.kill('SIGKILL')
    })
    const [url] = (await once(child, 'message')) as [string]
    const post = async (
      body: Buffer | string,
      headers: Record<string, string> = {}
    ): Promise<number | 'cut'> => {
      try {
        const response = await fetch(url + path, {
          method: 'POST',
          body: new Uint8Array(Buffer.from(body)),
          headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json', ...headers }
        })
        await response.arrayBuffer()
        return response.status
      } catch {
        return 'cut' // refused while the body was still being sent
      }
    }
    const isAlive = async (after: string): Promise<void> => {
      t.equal(
        await post('{"model":"sandbox/echo","messages":"x","max_tokens":1}'),
        200,
        `a good call after: ${after}`
      )
      t.equal(child.exitCode ?? child.signalCode, null, `the process keeps running after: ${after}`)
    }
    for (const [title, { times, body, gzip, statuses }] of Object.entries(attacks)) {
      const seen = await Promise.all(
        Array.from(
          { length: times },
          async () => await post(body, gzip === true ? { 'content-encoding': 'gzip' } : {})
        )
      )
      t.same(
        seen.filter(status => status !== 'cut' && !statuses.includes(status)),
        [],
        `${title}: ${seen.join(' ')}`
      )
      await isAlive(title)
    }
    const flood = 'GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(20_000)
    const sockets = await Promise.all(Array.from({ length: 10 }, async () => await raw(t, url)))
    for (const socket of sockets) socket.write(flood)
    await isAlive('200,000 pipelined requests without a key')
  }
)

/** A provider whose vectors take 24 MB. */
async function vectorProvider (t: Test): Promise<string> {
  const vector = Array.from({ length: 3072 }, () => 0.123456).join()
  const data = Array.from(
    { length: 900 },
    (_, index) => `{"object":"embedding","index":${index},"embedding":[${vector}]}`
  ).join()
  const answer = Buffer.from(
    `{"object":"list","model":"m","data":[${data}],"usage":{"prompt_tokens":1,"total_tokens":1}}`
  )
  const server = createServer((request, response) => {
    request
      .resume()
      .once('end', () =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length })
          .end(answer)
      )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` // listening on TCP
}

/** Memory of a process in bytes. */
function rssOf (pid: number | undefined): number {
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])
}

const hasProc = existsSync('/proc/self/status')

t.test(
  'unread answers fit into memory, or are refused',
  { timeout: 120_000, skip: shortRun || (!hasProc && 'no /proc here') },
  async t => {
    const child = fork(program, [await vectorProvider(t)], {
      execArgv: ['--max-old-space-size=512'],
      env: { ...process.env, NODE_OPTIONS: '' }
    })
    t.teardown(() => {
      child.kill('SIGKILL')
    })
    const [url] = (await once(child, 'message')) as [string]
    const body = JSON.stringify({
      model: 'upstream/text-embedding-3-large',
      input: Array.from({ length: 900 }, () => 'a')
    })
    const request = requestText(body)
      .replace('/v1/chat/completions', '/v1/embeddings')
      .replace('host: x', 'host: localhost')
    const heads = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const socket = await raw(t, url)
        socket.write(request)
        const [first] = (await once(socket, 'data')) as [Buffer]
        socket.pause()
        return first.toString('latin1', 9, 12)
      })
    )
    t.same([...new Set(heads)].toSorted(), ['200', '503'], 'some answers, and refusals')
    t.ok(rssOf(child.pid) < 1.2e9, `${Math.round(rssOf(child.pid) / 1e6)} MB`)
    const response = await fetch(url + path, {
      method: 'POST',
      body: '{"model":"sandbox/echo","messages":"x","max_tokens":1}',
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' }
    })
    t.equal(response.status, 200, 'a small call is answered')
  }
)

interface Received {
  readonly id?: number
  readonly method: string
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string } }>
  readonly messages?: ReadonlyArray<{ readonly role: string }>
}

/** Answers of a provider: one turn with 32 calls to a tool with large results, then text. */
function completionOf ({ messages = [], tools = [] }: Received): string {
  const name = tools.find(tool => tool.function.name.endsWith('big'))?.function.name
  const calls = name !== undefined && !messages.some(({ role }) => role === 'tool')
  const message = calls
    ? {
        role: 'assistant',
        content: null,
        tool_calls: Array.from({ length: 32 }, (_, index) => ({
          id: `call${index}`,
          type: 'function',
          function: { name, arguments: `{"index":${index}}` }
        }))
      }
    : { role: 'assistant', content: 'hi' }
  return JSON.stringify({
    choices: [{ index: 0, message, finish_reason: calls ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  })
}

const much = Buffer.alloc(15e6, 'x')

/**
 * A provider at `/v1`, and MCP servers: at `/json` and `/events` one whose tool returns 15 MB, at any other
 * path one that lists 15 MB of tools.
 */
async function wordyToolServer (t: Test): Promise<string> {
  const description = 'x'.repeat(15_000)
  const inputSchema = { type: 'object' }
  const results: Readonly<Record<string, object>> = {
    'initialize': {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' }
    },
    'tools/list': {
      tools: Array.from({ length: 1000 }, (_, index) => ({ name: `t${index}`, description, inputSchema }))
    }
  }
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { url = '' } = request
    void text(request).then(body => {
      const received = JSON.parse(body) as Received
      if (url.startsWith('/v1')) {
        response.writeHead(200, { 'content-type': 'application/json' })
        return response.end(completionOf(received))
      }
      const { id, method } = received
      if (id === undefined) return response.writeHead(202).end()
      const isStream = url.startsWith('/events')
      const returnsMuch = isStream || url.startsWith('/json')
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
      if (isStream) response.write('data: ')
      const end = isStream ? '\n\n' : ''
      if (method === 'tools/call') {
        response.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`)
        response.write(much)
        return response.end(`"}]}}${end}`)
      }
      const result = method === 'tools/list' && returnsMuch
        ? { tools: [{ name: 'big', inputSchema }] }
        : results[method]
      const answer = result === undefined ? { error: { code: -32601, message: 'unknown' } } : { result }
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + end)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // listening on TCP
}

interface ToolAnswer {
  readonly mcp_server_errors?: Readonly<Record<string, { readonly message: string }>>
}

interface SmallGateway {
  readonly child: ChildProcess
  /** Calls a model with these servers; returns the status and the answer. */
  readonly post: (servers: readonly string[]) => Promise<[number | undefined, ToolAnswer | undefined]>
}

/** Starts a gateway with 512 MB of heap and the provider at `server`. */
async function smallGateway (t: Test, server: string): Promise<SmallGateway> {
  const child = fork(program, [`${server}/v1`], {
    execArgv: ['--max-old-space-size=512'],
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  t.teardown(() => {
    child.kill('SIGKILL')
  })
  const [url] = (await once(child, 'message')) as [string]
  return {
    child,
    post: async servers => {
      const response = await fetch(url + path, {
        method: 'POST',
        body: JSON.stringify({ model: 'upstream/m', messages: 'x', mcp_servers: servers }),
        headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' }
      }).catch(() => undefined) // the process has exited
      return [response?.status, await response?.json() as ToolAnswer | undefined]
    }
  }
}

t.test(
  'tool lists fit into memory or their calls are refused, and waiting connections are closed',
  { timeout: 400_000, skip: shortRun },
  async t => {
    const server = await wordyToolServer(t)
    const { child, post } = await smallGateway(t, server)
    const outcome = async (servers: readonly string[]): Promise<string> => {
      const [status, answer] = await post(servers)
      return `${status}${answer?.mcp_server_errors === undefined ? '' : ' without tools'}`
    }
    const oneByOne: string[] = []
    for (let number = 0; number < 30; number++) oneByOne.push(await outcome([`${server}/${number}`]))
    t.same([...new Set(oneByOne)], ['200'], 'thirty servers, one after the other')
    const atOnce = await Promise.all(
      Array.from({ length: 30 }, async () => await outcome([`${server}/one`]))
    )
    t.same([...new Set(atOnce)].toSorted(), ['200', '503'], 'thirty calls at once')
    t.equal(await outcome([]), '200', 'a call without tools')
    t.equal(child.exitCode ?? child.signalCode, null, 'the process is alive')
  }
)

t.test(
  'tool results fit into memory as they arrive, or are refused',
  { timeout: 400_000, skip: shortRun || (!hasProc && 'no /proc here') },
  async t => {
    const server = await wordyToolServer(t)
    const { child, post } = await smallGateway(t, server)
    for (const form of ['json', 'events']) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, number) => await post([`${server}/${form}/${number}`]))
      )
      const statuses = new Set(answers.map(([status]) => status))
      t.same(
        [...statuses].filter(status => status !== 200 && status !== 503),
        [],
        `${form}: ${[...statuses].join()}`
      )
      const errors = answers.flatMap(([, answer]) => Object.values(answer?.mcp_server_errors ?? {}))
      t.same(
        [...new Set(errors.map(({ message }) => message))],
        ['The gateway does not have enough free memory for the response of the tool server.'],
        `${form}: the reason`
      )
      t.equal(child.exitCode ?? child.signalCode, null, `${form}: the process keeps running`)
      t.ok(rssOf(child.pid) < 1.2e9, `${form}: ${Math.round(rssOf(child.pid) / 1e6)} MB`)
    }
    t.equal((await post([]))[0], 200, 'a call without tools')
  }
)
