/**
 * The `fetch` of one tool session: limits answers, and aborts cancelled requests.
 *
 * `notifications/cancelled` asks a server to stop, but the server need not answer then, and the stream
 * waiting for the answer would stay open as long as the session. All pages of a tool list share one size
 * limit: 64 pages of maximum size would be a gigabyte.
 */

import { setMaxListeners } from 'node:events'
import { guardedFetch, maxParseCost, type GuardedRequest } from './guarded-fetch.ts'
import { isStream, tolerantAnswer } from './tolerant-answer.ts'
import { idText, type Listing, type SentRequest } from './repair-message.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { HeldMemory } from '../core/held-memory.ts'
import type { FetchLike } from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'

/**
 * Milliseconds for a server to accept a notification or reply. No caller waits for it, so its socket could
 * stay open as long as the session.
 */
const defaultOneWayMs = 5000

/** Maximum replies in flight: a server that sends requests without reading replies gets no more. */
const maxOpenReplies = 4

export interface SessionFetchOptions {
  /** Origin of the server, which may announce other addresses to the client library. */
  readonly origin: string
  readonly agent: Dispatcher
  /** Connects to other origins: any server may only redirect to public addresses. */
  readonly elsewhere: Dispatcher
  readonly maxBytes: number
  /** Returns memory for one incoming answer. */
  readonly hold: () => HeldMemory
  /** False for the older transport, which answers on a separate stream. */
  readonly answersInBody?: boolean
  /** Receives facts from tool lists. */
  readonly listing: Listing
  readonly oneWayMs?: number
}

export function sessionFetch ({
  origin,
  agent,
  elsewhere,
  maxBytes,
  hold,
  answersInBody = true,
  listing,
  oneWayMs = defaultOneWayMs
}: SessionFetchOptions): FetchLike {
  const openRequests = new Map<unknown, AbortController>()
  /** By id as a string. */
  const unanswered = new Map<string, SentRequest>()
  const requestOf = (id: unknown): SentRequest | undefined => unanswered.get(idText(id))
  const onAnswer = ({ id }: SentRequest): void => { unanswered.delete(idText(id)) }
  let openReplies = 0
  return async (url, init) => {
    const { id, method, cancels, page, oneWay } = readMessage(init?.body)
    if (oneWay === 'reply' && openReplies === maxOpenReplies) return accepted()
    const sent = id === undefined || method === undefined ? undefined : { id, method }
    const expected = answersInBody ? sent : undefined
    if (sent !== undefined) unanswered.set(idText(sent.id), sent)
    unanswered.delete(idText(cancels))
    if (page === 'first') listing.bytes = 0
    const { request, release } = requestAbort(init?.signal, oneWay === undefined ? undefined : oneWayMs)
    if (id !== undefined) openRequests.set(id, request)
    if (oneWay === 'reply') openReplies++
    let hasEnded = false
    const onEnd = (): void => {
      if (oneWay === 'reply' && !hasEnded) openReplies--
      hasEnded = true
      release()
      openRequests.delete(id)
    }
    try {
      const response = await guardedFetch(
        url,
        { ...plain(init), signal: request.signal },
        {
          agent: new URL(url).origin === origin ? agent : elsewhere,
          elsewhere,
          maxBytes: page === undefined ? maxBytes : Math.max(0, maxBytes - listing.bytes),
          maxParseCost,
          memory: hold(),
          onEnd
        }
      )
      // The client library would start an OAuth flow; credentials come from the caller.
      response.headers.delete('www-authenticate')
      const answer = await tolerantAnswer(response, {
        request: expected,
        requestOf,
        // In the older transport, the response to a POST says nothing about pending requests.
        ...!answersInBody && init?.method !== 'POST' && { owed: () => [...unanswered.values()] },
        onAnswer,
        listing
      })
      // If a stream ends before the answer, the answer comes on the stream that resumes it.
      if (expected !== undefined && !isStream(answer)) onAnswer(expected)
      return answer
    } catch (error) {
      onEnd()
      if (sent !== undefined) onAnswer(sent)
      throw error
    } finally {
      openRequests.get(cancels)?.abort()
    }
  }
}

/**
 * Returns the abort of one request. Until it is released, it also follows the session's, and aborts after the
 * time limit, if there is one.
 */
function requestAbort (
  session: AbortSignal | null | undefined,
  timeoutMs: number | undefined
): { readonly request: AbortController, readonly release: () => void } {
  const request = new AbortController()
  const forward = (): void => request.abort(session?.reason)
  if (session != null) {
    if (session.aborted) forward()
    setMaxListeners(0, session) // one for each open request
    session.addEventListener('abort', forward)
  }
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => request.abort(), timeoutMs)
  return {
    request,
    release: () => {
      clearTimeout(timer)
      session?.removeEventListener('abort', forward)
    }
  }
}

/** Returns a server's response to an accepted message. */
function accepted (): Response {
  const { Response } = loadUndici()
  return new Response(null, { status: 202 })
}

/** Returns the client library's request as plain values. */
function plain ({ method = 'GET', headers, body }: RequestInit = {}): GuardedRequest {
  const common = {
    method,
    headers: Object.fromEntries(headers instanceof Headers ? headers : new Headers(headers))
  }
  if (body === undefined || body === null) return common
  if (typeof body !== 'string') throw new TypeError('protocol messages must be JSON text')
  return { ...common, body }
}

interface SentMessage {
  readonly id?: unknown
  readonly method?: string
  /** Set for messages that need no answer. */
  readonly oneWay?: 'notification' | 'reply' | undefined
  /** Id of the cancelled request. */
  readonly cancels?: unknown
  /** Set for requests of a tool list page. */
  readonly page?: 'first' | 'next' | undefined
}

function readMessage (body: unknown): SentMessage {
  if (typeof body !== 'string') return {}
  const { id, method, params } = JSON.parse(body) // just written by the client library
  if (method === 'notifications/cancelled') return { oneWay: 'notification', cancels: params?.requestId }
  if (method === undefined) return { oneWay: 'reply' }
  return {
    id,
    method,
    oneWay: id === undefined ? 'notification' : undefined,
    page: method !== 'tools/list' ? undefined : params?.cursor === undefined ? 'first' : 'next'
  }
}
