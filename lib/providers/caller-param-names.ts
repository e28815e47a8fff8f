/**
 * Makes errors name fields as the caller wrote them.
 *
 * Adapters see one conversation, with the system prompt first and without messages that `instructions`
 * replaced. A location in it (`messages[3].content[0]`) is mapped back to the caller's list by object
 * identity. If a provider rejects a field under its own name, the caller's name is substituted.
 */

import { GatewayError } from '../core/errors.ts'
import type { ChatEvent } from '../core/events.ts'
import type { Adapter, AdapterInput } from './provider.ts'
import type { ChatInput } from '../chat/input.ts'

type ChatAdapter = Adapter<ChatInput, ChatEvent>

/** Wraps an adapter so that the `param` of a rejected request is a location in the caller's body. */
export function withCallerParamNames (adapter: ChatAdapter): ChatAdapter {
  return {
    ...adapter,
    request: input => {
      try {
        return adapter.request(input)
      } catch (error) {
        if (!(error instanceof GatewayError) || error.param === null) throw error
        const param = writtenParam(error.param, input)
        throw param === error.param
          ? error
          : error.with({ param, message: error.message.replaceAll(`\`${error.param}\``, `\`${param}\``) })
      }
    },
    error: (response, input) => {
      const failure = adapter.error(response, input)
      return failure.param === undefined ? failure : { ...failure, param: writtenParam(failure.param, input) }
    }
  }
}

function writtenParam (param: string, { request, quirks }: AdapterInput<ChatInput>): string {
  const { messages, originalInput } = request
  const match = /^messages\[(\d{1,9})\](.*)$/s.exec(param)
  if (match === null) return writtenField(param, request, quirks.rename)
  const message = messages[Number(match[1])]
  if (message === undefined || originalInput === undefined) return param
  const index = originalInput.messages.indexOf(message)
  return index === -1 ? originalInput.systemPromptField : `${originalInput.field}[${index}]${match[2] ?? ''}`
}

function writtenField (
  field: string,
  request: ChatInput,
  renamed: Readonly<Record<string, string>> = {}
): string {
  const [name = field] = field.split(/[.[]/, 1)
  const written = request.callerNames?.[name]
  if (written !== undefined) return written
  if (
    field === 'max_completion_tokens' &&
    request.max_completion_tokens === undefined &&
    request.max_tokens !== undefined
  ) {
    return 'max_tokens'
  }
  if (
    field === 'max_tokens' &&
    request.max_tokens === undefined &&
    request.max_completion_tokens !== undefined
  ) {
    return 'max_completion_tokens'
  }
  return Object.entries(renamed).find(([, name]) => name === field)?.[0] ?? field
}
