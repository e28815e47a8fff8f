/**
 * Fetches for one tool session: bounds answers, and aborts requests that were cancelled.
 *
 * The protocol's `notifications/cancelled` asks the server to stop, but a server need not answer a
 * request it has stopped, and the stream that waits for that answer would stay open as long as the
 * session. The pages of a tool list share one bound: 64 pages of the maximum each would be a gigabyte.
 */

import { setMaxListeners } from 'node:events'
import { guardedFetch, maxParseCost, type GuardedRequest } from './guarded-fetch.ts'
import { isStream, tolerantAnswer } from './tolerant-answer.ts'
import { idText, type Listing, type SentRequest } from './repair-message.ts'
import { loadUndici } from '../net/load-undici.ts'
import type { HeldMemory } from '../core/call.ts'
import type { FetchLike } from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'

/**
 * The time a server has to take a notification or a reply, which no caller waits for: its socket would stay
 * open as long as the session.
 */
const defaultOneWayMs = 5000

/** Replies in flight at once: a server that keeps sending requests and reads no replies gets no more. */
const maxOpenReplies = 4

export interface SessionFetchOptions {
  /** That of the server, which may announce other addresses to the client library. */
  readonly origin: string
  /** Connects to the server. */
  readonly agent: Dispatcher
  /** Connects to other origins: wherever the server may be, it redirects to public addresses only. */
  readonly elsewhere: Dispatcher
  readonly maxBytes: number
  /** Returns memory for one answer that arrives. */
  readonly hold: () => HeldMemory
  /** False for the older transport, which answers on a stream of its own. */
  readonly answersInBody?: boolean
  /** Notes what lists of tools have. */
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
  /** By the id as text. */
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
    const request = new AbortController()
    const session = init?.signal
    const forward = (): void => request.abort(session?.reason)
    if (session != null) {
      if (session.aborted) forward()
      setMaxListeners(0, session) // one for each open request
      session.addEventListener('abort', forward)
    }
    if (id !== undefined) openRequests.set(id, request)
    const timer = oneWay === undefined ? undefined : setTimeout(() => request.abort(), oneWayMs)
    if (oneWay === 'reply') openReplies++
    let hasEnded = false
    const onEnd = (): void => {
      if (oneWay === 'reply' && !hasEnded) openReplies--
      hasEnded = true
      clearTimeout(timer)
      session?.removeEventListener('abort', forward)
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
      // The client library would take it for the beginning of a sign-in; credentials are the caller's.
      response.headers.delete('www-authenticate')
      const answer = await tolerantAnswer(response, {
        request: expected,
        requestOf,
        // The older transport: what answers a message says nothing about the requests of the session.
        ...!answersInBody && init?.method !== 'POST' && { owed: () => [...unanswered.values()] },
        onAnswer,
        listing
      })
      // A stream may end before the answer, which then comes on the one that resumes it.
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

/** Returns what a server answers to a message that it has taken. */
function accepted (): Response {
  const { Response } = loadUndici()
  return new Response(null, { status: 202 })
}

/** Returns what the client library passes in plain values. */
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
  /** Set for what a server has nothing to say to. */
  readonly oneWay?: 'notification' | 'reply' | undefined
  /** The id of the request that it cancels. */
  readonly cancels?: unknown
  /** Set where it requests a page of tools. */
  readonly page?: 'first' | 'next' | undefined
}

function readMessage (body: unknown): SentMessage {
  if (typeof body !== 'string') return {}
  const { id, method, params } = JSON.parse(body) // written by the client library a moment ago
  if (method === 'notifications/cancelled') return { oneWay: 'notification', cancels: params?.requestId }
  if (method === undefined) return { oneWay: 'reply' }
  return {
    id,
    method,
    oneWay: id === undefined ? 'notification' : undefined,
    page: method !== 'tools/list' ? undefined : params?.cursor === undefined ? 'first' : 'next'
  }
}
