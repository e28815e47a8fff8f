/**
 * A tool server that does what a test says: raw JSON-RPC over `node:http`, streamable HTTP.
 *
 * Tools: `echo`, `slow` (never answers by itself), `fail`, `image` (of the base64 `data`), `flood`, `counted`
 * (says how often it ran), `drop` (cuts the connection), `refuse` (a JSON-RPC error; its own or `error`),
 * `progress` (reported once or `times`).
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'

interface RpcMessage {
  readonly id?: number | string
  readonly method: string
  readonly params?: {
    clientInfo?: unknown
    name?: string
    arguments?: Record<string, unknown>
    requestId?: unknown
    _meta?: { progressToken?: unknown, traceparent?: unknown }
    cursor?: string
  }
}

export interface ToolServerBehaviour {
  /** Answers every request with this status. */
  status?: number
  /** Does not answer these methods at all. */
  silent?: string[]
  /** The answer of `initialize` or `tools/list` instead of the truth. */
  lies?: Record<string, unknown>
  /** Names of further tools. */
  more?: string[]
  /** What tools say beside the arguments that they got. */
  says?: string
  /** Tools on a page of the list. */
  pageSize?: number
  /** Characters of each description. */
  descriptionLength?: number
}

export interface TestToolServer {
  readonly url: string
  readonly behaviour: ToolServerBehaviour
  /** The `clientInfo` of each session. */
  readonly clients: unknown[]
  /** Requests by method: JSON-RPC methods, and `DELETE`. */
  readonly counts: Readonly<Record<string, number>>
  readonly headers: ReadonlyArray<IncomingMessage['headers']>
  /** `_meta` of each request, with its method. */
  readonly metas: ReadonlyArray<{
    readonly method: string
    readonly meta: Readonly<Record<string, unknown>> | undefined
  }>
  /** The arguments of each call of a tool. */
  readonly calls: unknown[]
  /** Ids of calls that were cancelled. */
  readonly cancelled: unknown[]
  /** Sessions that are known now. */
  readonly sessions: Set<string>
  readonly sockets: Set<Socket>
  /** Calls of `slow` whose connection is still open. */
  readonly waiting: ReadonlySet<ServerResponse>
  /** Sessions that listen for notifications. */
  readonly streams: ReadonlySet<ServerResponse>
  /** Notifies every open session that the list of tools has changed. */
  readonly announceChange: () => void
  /** Forgets all sessions: the next request of each is 404. */
  readonly forget: () => void
}

const ownTools = ['echo', 'slow', 'fail', 'image', 'flood', 'counted', 'drop', 'refuse', 'progress']

export async function startToolServer (
  t: Test,
  behaviour: ToolServerBehaviour = {}
): Promise<TestToolServer> {
  const counts: Record<string, number> = {}
  const clients: unknown[] = []
  const headers: Array<IncomingMessage['headers']> = []
  const calls: unknown[] = []
  const metas: Array<TestToolServer['metas'][number]> = []
  const cancelled: unknown[] = []
  const sessions = new Set<string>()
  const sockets = new Set<Socket>()
  const streams = new Set<ServerResponse>()
  const waiting = new Set<ServerResponse>()
  let opened = 0

  async function handle (request: IncomingMessage, response: ServerResponse): Promise<void> {
    headers.push(request.headers)
    if (behaviour.status !== undefined) {
      count(`HTTP ${behaviour.status}`)
      response.writeHead(behaviour.status).end('secret words of the server')
      return
    }
    const session = request.headers['mcp-session-id']
    const known = typeof session === 'string' && sessions.has(session)
    if (request.method === 'DELETE') {
      count('DELETE')
      sessions.delete(String(session))
      response.writeHead(204).end()
      return
    }
    if (request.method === 'GET') {
      streams.add(response)
      response.on('close', () => streams.delete(response))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      return
    }
    const message = await json(request) as RpcMessage // written by the client library
    count(message.method)
    metas.push({ method: message.method, meta: message.params?._meta })
    if (behaviour.silent?.includes(message.method) === true) return
    if (message.method === 'initialize') {
      const id = `session-${++opened}`
      sessions.add(id)
      clients.push(message.params?.clientInfo)
      response.setHeader('mcp-session-id', id)
      answer(
        response,
        message,
        behaviour.lies?.['initialize'] ?? {
          protocolVersion: '2025-06-18',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'test', version: '1' }
        }
      )
      return
    }
    if (message.method === 'server/discover') {
      answerWith(response, message, { error: { code: -32601, message: 'Method not found' } })
      return
    }
    if (!known) {
      response.writeHead(404).end()
      return
    }
    if (message.id === undefined) {
      if (message.method === 'notifications/cancelled') cancelled.push(message.params?.requestId)
      response.writeHead(202).end()
      return
    }
    if (message.method === 'tools/list') {
      answer(response, message, behaviour.lies?.['tools/list'] ?? listPage(message))
      return
    }
    callTool(message, response)
  }

  function listPage ({ params }: RpcMessage): unknown {
    const names = [...ownTools, ...behaviour.more ?? []]
    const from = Number(params?.cursor ?? 0)
    const size = behaviour.pageSize ?? names.length
    const tools = names.slice(from, from + size).map(name => ({
      name,
      description: `Tool ${name}.`.padEnd(behaviour.descriptionLength ?? 0, '.'),
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: name === 'echo' }
    }))
    return { tools, ...from + size < names.length && { nextCursor: String(from + size) } }
  }

  function callTool (message: RpcMessage, response: ServerResponse): void {
    const { name = '', arguments: args = {}, _meta: meta } = message.params ?? {}
    calls.push(args)
    count(`tool ${name}`)
    const text = (words: string): unknown => ({ content: [{ type: 'text', text: words }] })
    switch (name) {
      case 'slow':
        waiting.add(response)
        response.on('close', () => waiting.delete(response))
        return
      case 'drop':
        response.destroy()
        return
      case 'refuse':
        answerWith(response, message, { error: args['error'] ?? { code: -32602, message: 'a is missing' } })
        return
      case 'fail':
        answer(response, message, { content: [{ type: 'text', text: 'no luck' }], isError: true })
        return
      case 'flood':
        answer(response, message, text('é'.repeat(50_000)))
        return
      case 'counted':
        answer(response, message, {
          ...Object(text('')),
          structuredContent: { times: counts['tool counted'] }
        })
        return
      case 'image':
        answer(response, message, {
          content: [
            { type: 'image', data: args['data'] ?? 'AAAA', mimeType: 'image/png' },
            { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside' } },
            { type: 'resource_link', uri: 'file:///b.txt', name: 'b' }
          ]
        })
        return
      case 'progress':
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (let progress = 1; progress <= Number(args['times'] ?? 1); progress++) {
          response.write(
            `data: ${JSON.stringify({
              jsonrpc: '2.0',
              method: 'notifications/progress',
              params: { progressToken: meta?.progressToken, progress, total: 2 }
            })}\n\n`
          )
        }
        response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: text('done') })}\n\n`)
        return
      default:
        answer(response, message, text(`${name}: ${JSON.stringify(args)}${behaviour.says ?? ''}`))
    }
  }

  function count (method: string): void {
    counts[method] = (counts[method] ?? 0) + 1
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => { response.destroy() })
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // listening on TCP
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    behaviour,
    clients,
    counts,
    headers,
    calls,
    metas,
    cancelled,
    sessions,
    sockets,
    waiting,
    streams,
    forget: () => sessions.clear(),
    announceChange: () => {
      for (const stream of streams) {
        stream.write(
          `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n\n`
        )
      }
    }
  }
}

function answer (response: ServerResponse, message: RpcMessage, result: unknown): void {
  answerWith(response, message, { result })
}

function answerWith (
  response: ServerResponse,
  { id }: RpcMessage,
  outcome: { readonly result: unknown } | { readonly error: unknown }
): void {
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
}
