/**
 * The `fetch` of one tool session.
 *
 * It bounds what comes back and lets go of requests that were cancelled: the protocol's
 * `notifications/cancelled` asks the server to stop, but a server need not answer a request it has
 * stopped, and the stream that waits for that answer would stay open as long as the session.
 */

import { setMaxListeners } from 'node:events'
import { guardedFetch } from './guarded-fetch.ts'
import type { FetchLike } from '@modelcontextprotocol/client'
import type { Dispatcher, RequestInit } from 'undici'

export function sessionFetch (agent: Dispatcher, maxBytes: number): FetchLike {
  const underWay = new Map<unknown, AbortController>()
  return async (url, init) => {
    const { id, cancels } = readMessage(init?.body)
    const request = new AbortController()
    const session = init?.signal
    const forward = (): void => request.abort(session?.reason)
    if (session != null) {
      if (session.aborted) forward()
      setMaxListeners(0, session) // one for each request under way
      session.addEventListener('abort', forward)
    }
    if (id !== undefined) underWay.set(id, request)
    const onEnd = (): void => {
      session?.removeEventListener('abort', forward)
      underWay.delete(id)
    }
    try {
      return await guardedFetch(url, { ...plain(init), signal: request.signal }, { agent, maxBytes, onEnd })
    } catch (error) {
      onEnd()
      throw error
    } finally {
      underWay.get(cancels)?.abort()
    }
  }
}

/** What the client library asks for, in values that Node's `fetch` and undici's both know. */
function plain ({ method = 'GET', headers, body }: globalThis.RequestInit = {}): RequestInit {
  const common = { method, headers: [...new Headers(headers)] }
  if (body === undefined || body === null) return common
  if (typeof body !== 'string') throw new TypeError('messages of the protocol are JSON texts')
  return { ...common, body }
}

/** The id of a request, or the id of the request that a notification cancels. */
function readMessage (body: unknown): { id?: unknown, cancels?: unknown } {
  if (typeof body !== 'string') return {}
  const { id, method, params } = JSON.parse(body) // written by the client library a moment ago
  if (method === 'notifications/cancelled') return { cancels: params?.requestId }
  return method === undefined ? {} : { id }
}
