/**
 * Errors that name places in what the caller wrote.
 *
 * Adapters see one conversation, with the system prompt in front and whatever `instructions`
 * replaced taken out. A place they name in it (`messages[3].content[0]`) is found again in the
 * caller's own list, because the messages are still the same objects.
 */

import { GatewayError } from '../core/errors.ts'
import type { ChatEvent } from '../core/events.ts'
import type { Adapter } from './provider.ts'
import type { ChatInput } from '../chat/input.ts'

type ChatAdapter = Adapter<ChatInput, ChatEvent>

/** The same adapter; the `param` of a refused request is a place in the caller's body. */
export function withCallerPaths (adapter: ChatAdapter): ChatAdapter {
  return {
    ...adapter,
    request: ask => {
      try {
        return adapter.request(ask)
      } catch (error) {
        if (!(error instanceof GatewayError) || error.param === null) throw error
        const param = writtenParam(error.param, ask.request)
        throw param === error.param ? error : error.with({ param })
      }
    }
  }
}

function writtenParam (param: string, { messages, written }: ChatInput): string {
  const place = /^messages\[(\d+)\](.*)$/s.exec(param)
  const message = messages[Number(place?.[1])]
  if (place === null || message === undefined || written === undefined) return param
  const index = written.messages.indexOf(message)
  return index === -1 ? written.preface : `${written.field}[${index}]${place[2] ?? ''}`
}
