/**
 * Repairs the messages of servers that are child processes. Lines that are no message, as of a log, are
 * passed over by the client library. It drops answers without a valid envelope as well, so their requests
 * would wait until they time out.
 */

import { isList, isObject, type JsonObject } from '../json/guards.ts'
import { brokenAnswer, idText, repairMessage, type Listing, type SentRequest } from './repair-message.ts'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'

/** Replies that a process has not read: one that requests more without reading any gets no more. */
const maxOpenReplies = 100

/**
 * Has each message repaired before the client library checks it. The transport stays what it is: the client
 * library starts a second process of its class, to negotiate the version with.
 *
 * @param listing gets what lists of tools have
 */
export function repairTransport (transport: Transport, listing: Listing): void {
  /** By the id as text. */
  const unanswered = new Map<string, SentRequest>()
  const send = transport.send.bind(transport)
  let openReplies = 0
  let handler: Transport['onmessage']
  let errorHandler: Transport['onerror']

  transport.send = async (message, options) => {
    if ('method' in message) {
      const { method, params } = message
      if ('id' in message) unanswered.set(idText(message.id), { id: message.id, method })
      else if (method === 'notifications/cancelled') unanswered.delete(idText(params?.['requestId']))
    }
    if ('method' in message) return await send(message, options)
    if (openReplies === maxOpenReplies) return
    openReplies++
    await send(message, options).finally(() => openReplies--)
  }
  Object.defineProperty(transport, 'onmessage', {
    get: () => handler,
    set: (given: Transport['onmessage']) => {
      // a message of the same kind
      handler =
        given === undefined
          ? undefined
          : (message, extra) => given(repaired(message) as typeof message, extra)
    }
  })
  Object.defineProperty(transport, 'onerror', {
    get: () => errorHandler,
    set: (given: Transport['onerror']) => {
      errorHandler = error => {
        given?.(error)
        if (isAboutAnswer(error)) failUnanswered()
      }
    }
  })

  /** The error does not say which request the answer was for. */
  function failUnanswered (): void {
    const requests = [...unanswered.values()]
    unanswered.clear()
    for (const request of requests) handler?.(brokenAnswer(request) as JSONRPCMessage) // an error of JSON-RPC
  }

  function repaired (message: JSONRPCMessage): unknown {
    if ('method' in message) return message
    const id = idText(message.id)
    const request = unanswered.get(id)
    unanswered.delete(id)
    return repairMessage(message, request, listing)
  }
}

/**
 * Returns whether the client library dropped a message that was to be an answer: it had a result or an error,
 * or was a list. What programs log as JSON has neither.
 *
 * @param error with the issues of zod, those of each kind of message by itself
 */
function isAboutAnswer (error: unknown): boolean {
  return (
    isObject(error) &&
    error['name'] === 'ZodError' &&
    issuesOf(error['issues']).some(({ code, keys, message }) =>
      code === 'unrecognized_keys'
        ? isList(keys) && (keys.includes('result') || keys.includes('error'))
        : code === 'invalid_type' && String(message).endsWith('received array')
    )
  )
}

/** Lists issues, and of a choice between several schemas those of each. */
function issuesOf (issues: unknown): JsonObject[] {
  return (isList(issues) ? issues.flat() : []).flatMap(issue => (
    isObject(issue) ? [issue, ...issue['path'] === undefined ? [] : issuesOf(issue['errors'])] : []
  ))
}
