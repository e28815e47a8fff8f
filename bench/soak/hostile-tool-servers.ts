import { fakeProvider, sendJson } from './provider.ts'
import { maxStallMs, watchLiveness } from './liveness.ts'
import { finding, type Finding, type Scenario } from './scenario.ts'
import { maxTurnMs, watchTurns } from './turn-watch.ts'
import { providerAt, startWorld } from './world.ts'

const result = (id: unknown, value: object): string => JSON.stringify({ jsonrpc: '2.0', id, result: value })
const tool = { name: 'look', inputSchema: { type: 'object' } }

interface Behaviour {
  /** False if no tool can be called: the list itself is invalid. */
  readonly isCalled?: boolean
  readonly tools: (page: number) => object
  readonly call: (id: unknown) => string | undefined
}

const plain: Behaviour = {
  tools: () => ({ tools: [tool] }),
  call: id => result(id, { content: [{ type: 'text', text: 'fine' }] })
}

const behaviours: Readonly<Record<string, Behaviour>> = {
  'a list of tools without end': {
    ...plain,
    isCalled: false,
    tools: page => ({ tools: [{ ...tool, name: `look${page}` }], nextCursor: String(page + 1) })
  },
  '50,000 tools': {
    ...plain,
    isCalled: false,
    tools: () => ({
      tools: Array.from({ length: 50_000 }, (_, number) => ({ ...tool, name: `t${number}` }))
    })
  },
  '20,000 texts beside 590 KB of structured content': {
    ...plain,
    call: id =>
      result(id, {
        content: Array.from({ length: 20_000 }, () => ({ type: 'text', text: '1' })),
        structuredContent: { x: 'y'.repeat(590_000) }
      })
  },
  'a result of 30 MB': {
    ...plain,
    call: id => result(id, { content: [{ type: 'text', text: 'x'.repeat(30_000_000) }] })
  },
  '16 MB of empty objects': {
    ...plain,
    call: id =>
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"x":[${'{},'.repeat(5_000_000)}{}]}}}`
  },
  'as many texts as are read': {
    ...plain,
    call: id => result(id, { content: Array.from({ length: 14_000 }, () => ({ type: 'text', text: 'a' })) })
  },
  'tools with as many properties as are read': {
    ...plain,
    isCalled: false,
    tools: () => ({
      tools: Array.from({ length: 900 }, (_, number) => ({
        name: `t${number}`,
        inputSchema: {
          type: 'object',
          properties: Object.fromEntries(
            Array.from({ length: 15 }, (__, index) => [`p${index}`, { type: 'string' }])
          )
        }
      }))
    })
  },
  'a call that never returns': { ...plain, call: () => undefined },
  'an answer that is not JSON': { ...plain, call: () => '{]' }
}

/** Misbehaving tool servers of a caller: the call ends, and others are served meanwhile. */
export const hostileToolServers: Scenario = {
  name: 'hostile tool servers',
  run: async short => {
    const turns = watchTurns()
    let current = plain
    let calls = 0
    const server = await fakeProvider((request, response, body) => {
      const { id, method, params } = JSON.parse(body === '' ? '{}' : body) as {
        id?: unknown
        method?: string
        params?: { cursor?: string }
      }
      if (method === 'initialize') {
        return sendJson(
          response,
          result(id, {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {} },
            serverInfo: { name: 'x', version: '1' }
          })
        )
      }
      if (method === 'tools/list') {
        return sendJson(response, result(id, current.tools(Number(params?.cursor ?? 0))))
      }
      if (method !== 'tools/call') {
        // Requests of other versions of the protocol, and notifications.
        if (id === undefined) return response.writeHead(request.method === 'GET' ? 405 : 202).end()
        return sendJson(
          response,
          JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown method' } })
        )
      }
      calls++
      const text = current.call(id)
      if (text !== undefined) sendJson(response, text)
    })
    const provider = await fakeProvider((_, response, body) => {
      const message = body.includes('"role":"tool"')
        ? { role: 'assistant', content: 'done' }
        : {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }]
          }
      sendJson(
        response,
        JSON.stringify({
          id: 'x',
          object: 'chat.completion',
          created: 1,
          model: 'm',
          choices: [{ index: 0, message, finish_reason: message.content === null ? 'tool_calls' : 'stop' }]
        })
      )
    })
    const world = await startWorld({
      ...turns.options,
      configuration: {
        providers: {
          fake: providerAt(provider.port),
          sandbox: { kind: 'sandbox', options: { words_per_second: 0 } }
        },
        tools: { allowed_hosts: ['127.0.0.1'], connect_ms: 5000, call_ms: 5000 }
      }
    })
    const findings: Finding[] = []
    try {
      // Modules loaded and compiled by the first calls are not part of a behaviour's cost.
      for (let round = 0; round < 20; round++) {
        await world.post('/v1/chat/completions', {
          model: 'fake/m',
          messages: 'x',
          mcp_servers: [`http://127.0.0.1:${server.port}/plain`]
        })
      }
      for (const [name, behaviour] of Object.entries(behaviours)) {
        current = behaviour
        calls = 0
        await turns.ask(world)
        const liveness = await watchLiveness(world.url)
        const startedMs = performance.now()
        // Each has a separate server, since lists of tools are cached for a while.
        const url = `http://127.0.0.1:${server.port}/${encodeURIComponent(name)}`
        const call = world.post('/v1/chat/completions', {
          model: 'fake/m',
          messages: 'x',
          mcp_servers: [url]
        })
        const other = await world.post('/v1/chat/completions', { model: 'sandbox/echo', messages: 'x' })
        const { status } = await call
        const tookMs = performance.now() - startedMs
        const slowestMs = await liveness.stop()
        const { workMs } = await turns.ask(world)
        const reached = calls > 0 || behaviour.isCalled === false
        findings.push(
          finding(
            name,
            other.status === 200 &&
              reached &&
              tookMs < 20_000 &&
              slowestMs < maxStallMs() &&
              workMs < maxTurnMs(short) &&
              world.rssMb() < 600,
            `${status} after ${tookMs.toFixed(0)} ms, ${calls} tool ${calls === 1 ? 'call' : 'calls'}; /livez meanwhile at most ${slowestMs.toFixed(0)} ms, ${workMs.toFixed(0)} ms in a turn; ${world.rssMb()} MB`
          )
        )
      }
      return findings
    } finally {
      await world.stop()
      turns.stop()
      provider.close()
      server.close()
    }
  }
}
