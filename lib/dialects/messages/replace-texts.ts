/** Replaces texts in requests of Messages. */

import { contextOf, updateCall, type RoutedCall } from '../../core/call.ts'
import { replaceRequest } from '../replaced-request.ts'
import { countTokensInput, messagesInput, type MessagesContext } from './input.ts'
import { messagesRequestTexts } from './text-places.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ReplaceText } from '../../json/place-table.ts'
import type { MessagesRequest } from '../../../schemas/messages-request.ts'

/** Implements `Dialect.replaceTexts` for messages, which the caller sent as a `MessagesRequest`. */
export const replaceMessageTexts = replaceTextsBy(call =>
  messagesInput({ ...call, request: call.request as MessagesRequest })
)

/** Replaces texts of a token-count request. */
export const replaceCountTexts = replaceTextsBy(countTokensInput)

function replaceTextsBy (input: typeof countTokensInput) {
  return (call: RoutedCall<ChatInput>, replace: ReplaceText): RoutedCall<ChatInput> => {
    const { request: given } = contextOf<MessagesContext>(call)
    const replaced = messagesRequestTexts.replace(given, replace)
    if (replaced === given) return call
    const { request, context } = input(replaceRequest(call, given, replaced))
    return updateCall(call, { request, context })
  }
}
