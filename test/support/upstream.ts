/**
 * A provider for tests: a real HTTP server on a free port that answers by script, with every fault of a
 * provider or of the network.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { settles } from './until.ts'

/** How an answer is sent. */
export interface Script {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Written one after another, each in a separate write. */
  readonly pieces?: ReadonlyArray<string | Uint8Array> | AsyncIterable<string | Uint8Array>
  /**
   * The end after the pieces: a proper end (default), a reset of the connection, nothing until the other side
   * disconnects, or the end of the connection without the end of the body.
   */
  readonly then?: 'end' | 'reset' | 'stall' | 'fin'
  /** Never answer at all. */
  readonly silent?: boolean
}

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly bytes: Buffer
  readonly text: string
  readonly json: unknown
  /** Resolves when the connection of this request has closed before its answer ended. */
  readonly aborted: Promise<void>
}

export interface FakeUpstream {
  readonly url: string
  readonly requests: SeenRequest[]
  /** Open sockets. */
  readonly sockets: () => number
  /** Resolves with the request of this number, counted from 0, once it has arrived. */
  readonly request: (number: number) => Promise<SeenRequest>
  /** Closes the connections, as a provider does after some time. */
  readonly closeSockets: () => void
  readonly close: () => Promise<void>
}

/** @param script what to answer: one for all requests, or chosen by request */
export async function fakeUpstream (
  script: Script | ((request: SeenRequest, number: number) => Script | Promise<Script>)
): Promise<FakeUpstream> {
  const requests: SeenRequest[] = []
  const sockets = new Set<Socket>()
  const waiting: Array<() => void> = []
  const server = createServer((request, response) => {
    void (async () => {
      const seen = await see(request, response)
      const number = requests.push(seen) - 1
      for (const wake of waiting.splice(0)) wake()
      await play(typeof script === 'function' ? await script(seen, number) : script, response)
    })().catch(() => response.destroy())
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    sockets: () => sockets.size,
    request: async number => {
      const come = async (): Promise<SeenRequest> => {
        const request = requests[number]
        if (request !== undefined) return request
        await new Promise<void>(resolve => { waiting.push(resolve) })
        return await come()
      }
      return await settles(come(), `request ${number} to the provider`, 20_000)
    },
    closeSockets: () => { for (const socket of sockets) socket.destroy() },
    close: async () => {
      server.close()
      for (const socket of sockets) socket.destroy()
      if (server.listening) await once(server, 'close')
    }
  }
}

async function see (request: IncomingMessage, response: ServerResponse): Promise<SeenRequest> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const bytes = Buffer.concat(pieces)
  const text = bytes.toString()
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    bytes,
    text,
    json: parse(text),
    aborted: new Promise(resolve => {
      response.once('close', () => { if (!response.writableFinished) resolve() })
    })
  }
}

function parse (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function play (script: Script, response: ServerResponse): Promise<void> {
  if (script.silent === true) return
  response.writeHead(script.status ?? 200, { 'content-type': 'application/json', ...script.headers })
  for await (const piece of script.pieces ?? []) {
    if (response.destroyed) return
    if (!response.write(piece)) await drained(response)
  }
  switch (script.then ?? 'end') {
    case 'end': response.end(); break
    case 'reset': response.flushHeaders(); response.socket?.resetAndDestroy(); break
    // Node.js 26 sends data at the end of the turn in which it was written.
    case 'fin': setImmediate(() => response.socket?.end()); break
    case 'stall': response.flushHeaders(); break
  }
}

/** Resolves when there is room again, or the other side has disconnected. */
async function drained (response: ServerResponse): Promise<void> {
  const over = new AbortController()
  const { signal } = over
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })])
  over.abort()
}

export const eventStream = { 'content-type': 'text/event-stream; charset=utf-8' }

/** Frames of a chat stream of the dialect: the given texts as deltas of choice 0. */
export function chatFrames (texts: readonly string[], more: { readonly usage?: boolean } = {}): string[] {
  const head = { id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1763686800, model: 'm-1' }
  const chunk = (delta: unknown, finish: string | null = null): string =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const usage = { prompt_tokens: 3, completion_tokens: texts.length, total_tokens: 3 + texts.length }
  return [
    chunk({ role: 'assistant', content: '' }),
    ...texts.map(content => chunk({ content })),
    chunk({}, 'stop'),
    ...(more.usage === false ? [] : [`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`]),
    'data: [DONE]\n\n'
  ]
}

/** Returns a complete chat answer of the dialect. */
export function chatAnswer (
  text: string,
  usage: object = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }
): string {
  return completionOf({ content: text, refusal: null }, { usage })
}

/** Returns a complete chat completion that calls a tool. */
export function toolCallAnswer (name: string, args: object = {}, usage?: object): string {
  const call = { id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(args) } }
  return completionOf({ content: null, tool_calls: [call] }, { finishReason: 'tool_calls', usage })
}

/** Returns a complete chat completion with this message of the model. */
export function completionOf (
  message: object,
  { finishReason = 'stop', usage }: { finishReason?: string, usage?: object | undefined } = {}
): string {
  return JSON.stringify({
    id: 'chatcmpl-up',
    object: 'chat.completion',
    created: 1763686800,
    model: 'm-1',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }],
    usage
  })
}
