/**
 * Repairs the messages of servers that are child processes. Lines that are no message, as of a log, are
 * passed over by the client library.
 */

import { idText, repairMessage, type SentRequest } from './repair-message.ts'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'

/**
 * Has each message repaired before the client library checks it. The transport stays what it is: the client
 * library starts a second process of its class, to negotiate the version with.
 *
 * @param onLeftOut takes the names of tools that cannot be offered
 */
export function repairTransport (transport: Transport, onLeftOut: (names: readonly string[]) => void): void {
  /** By the id as text. */
  const unanswered = new Map<string, SentRequest>()
  const send = transport.send.bind(transport)
  let handler: Transport['onmessage']

  transport.send = async (message, options) => {
    if ('method' in message) {
      const { method, params } = message
      if ('id' in message) unanswered.set(idText(message.id), { id: message.id, method })
      else if (method === 'notifications/cancelled') unanswered.delete(idText(params?.['requestId']))
    }
    await send(message, options)
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

  function repaired (message: JSONRPCMessage): unknown {
    if ('method' in message) return message
    const id = idText(message.id)
    const request = unanswered.get(id)
    unanswered.delete(id)
    return repairMessage(message, request, onLeftOut)
  }
}
