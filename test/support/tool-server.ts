/**
 * A scripted tool server: raw JSON-RPC over `node:http`, streamable HTTP.
 *
 * Tools: `echo`, `slow` (never answers by itself), `fail`, `image` (of the base64 `data`), `flood`, `counted`
 * (says how often it ran), `drop` (cuts the connection), `refuse` (a JSON-RPC error; its own or `error`),
 * `progress` (reported once or `times`).
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
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
  /** The answer of `initialize` or `tools/list` instead of the real one. */
  lies?: Record<string, unknown>
  /** Names of further tools. */
  more?: string[]
  /** Text that tools return in addition to their arguments. */
  says?: string
  /** Tools per page of the list. */
  pageSize?: number
  /** Characters of each description. */
  descriptionLength?: number
}

const ownTools = ['echo', 'slow', 'fail', 'image', 'flood', 'counted', 'drop', 'refuse', 'progress']

export async function startToolServer (
  t: Test,
  behaviour: ToolServerBehaviour = {}
): Promise<TestToolServer> {
  const toolServer = new TestToolServer(behaviour)
  await toolServer.listen()
  t.teardown(() => toolServer.close())
  return toolServer
}

export class TestToolServer {
  /** Set once it listens. */
  url = ''
  readonly behaviour: ToolServerBehaviour
  /** The `clientInfo` of each session. */
  readonly clients: unknown[] = []
  /** Requests by method: JSON-RPC methods, and `DELETE`. */
  readonly counts: Record<string, number> = {}
  readonly headers: Array<IncomingMessage['headers']> = []
  /** `_meta` of each request, with its method. */
  readonly metas: Array<{
    readonly method: string
    readonly meta: Readonly<Record<string, unknown>> | undefined
  }> = []
  /** The arguments of each tool call. */
  readonly calls: unknown[] = []
  /** Ids of cancelled calls. */
  readonly cancelled: unknown[] = []
  /** Sessions currently known. */
  readonly sessions = new Set<string>()
  readonly sockets = new Set<Socket>()
  /** Calls of `slow` whose connection is still open. */
  readonly waiting = new Set<ServerResponse>()
  /** Sessions that listen for notifications. */
  readonly streams = new Set<ServerResponse>()
  readonly #server: Server
  #opened = 0

  constructor (behaviour: ToolServerBehaviour) {
    this.behaviour = behaviour
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => { response.destroy() })
    })
    this.#server.on('connection', socket => {
      this.sockets.add(socket)
      socket.on('close', () => this.sockets.delete(socket))
    })
  }

  async listen (): Promise<void> {
    await new Promise<void>(resolve => { this.#server.listen(0, '127.0.0.1', resolve) })
    const { port } = this.#server.address() as AddressInfo // listening on TCP
    this.url = `http://127.0.0.1:${port}/mcp`
  }

  close (): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** Forgets all sessions: the next request of each is a 404. */
  forget (): void {
    this.sessions.clear()
  }

  /** Notifies every open session that the list of tools has changed. */
  announceChange (): void {
    const notice = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    for (const stream of this.streams) stream.write(`data: ${notice}\n\n`)
  }

  async #handle (request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.headers.push(request.headers)
    const { status } = this.behaviour
    if (status !== undefined) {
      this.#count(`HTTP ${status}`)
      response.writeHead(status).end('secret words of the server')
      return
    }
    const session = request.headers['mcp-session-id']
    if (request.method === 'DELETE') {
      this.#count('DELETE')
      this.sessions.delete(String(session))
      response.writeHead(204).end()
    } else if (request.method === 'GET') {
      this.streams.add(response)
      response.on('close', () => this.streams.delete(response))
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
    } else {
      const message = await json(request) as RpcMessage // written by the client library
      this.#read(message, typeof session === 'string' && this.sessions.has(session), response)
    }
  }

  /** @param isKnown true for a message of a session opened here */
  #read (message: RpcMessage, isKnown: boolean, response: ServerResponse): void {
    const { lies, silent } = this.behaviour
    const { method, params } = message
    this.#count(method)
    this.metas.push({ method, meta: params?._meta })
    if (silent?.includes(method) === true) return
    if (method === 'initialize') {
      const id = `session-${++this.#opened}`
      this.sessions.add(id)
      this.clients.push(params?.clientInfo)
      response.setHeader('mcp-session-id', id)
      answer(
        response,
        message,
        lies?.['initialize'] ?? {
          protocolVersion: '2025-06-18',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'test', version: '1' }
        }
      )
    } else if (method === 'server/discover') {
      answerWith(response, message, { error: { code: -32601, message: 'Method not found' } })
    } else if (!isKnown) {
      response.writeHead(404).end()
    } else if (message.id === undefined) {
      if (method === 'notifications/cancelled') this.cancelled.push(params?.requestId)
      response.writeHead(202).end()
    } else if (method === 'tools/list') {
      answer(response, message, lies?.['tools/list'] ?? this.#listPage(message))
    } else this.#callTool(message, response)
  }

  #listPage ({ params }: RpcMessage): unknown {
    const { more = [], pageSize, descriptionLength = 0 } = this.behaviour
    const names = [...ownTools, ...more]
    const from = Number(params?.cursor ?? 0)
    const size = pageSize ?? names.length
    const tools = names.slice(from, from + size).map(name => ({
      name,
      description: `Tool ${name}.`.padEnd(descriptionLength, '.'),
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: name === 'echo' }
    }))
    return { tools, ...from + size < names.length && { nextCursor: String(from + size) } }
  }

  #callTool (message: RpcMessage, response: ServerResponse): void {
    const { name = '', arguments: args = {}, _meta: meta } = message.params ?? {}
    this.calls.push(args)
    this.#count(`tool ${name}`)
    const text = (words: string): unknown => ({ content: [{ type: 'text', text: words }] })
    switch (name) {
      case 'slow':
        this.waiting.add(response)
        response.on('close', () => this.waiting.delete(response))
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
          structuredContent: { times: this.counts['tool counted'] }
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
        answer(response, message, text(`${name}: ${JSON.stringify(args)}${this.behaviour.says ?? ''}`))
    }
  }

  #count (method: string): void {
    this.counts[method] = (this.counts[method] ?? 0) + 1
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
