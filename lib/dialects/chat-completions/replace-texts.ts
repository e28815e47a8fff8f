import { contextOf, updateCall } from '../../core/call.ts'
import { replaceRequest } from '../replaced-request.ts'
import { chatInput, type ChatContext } from './input.ts'
import { chatRequestTexts } from './text-places.ts'
import type { Dialect } from '../dialect.ts'

/** Implements `Dialect.replaceTexts`. */
export const replaceChatTexts: Dialect['replaceTexts'] = (call, replace) => {
  const { request: given } = contextOf<ChatContext>(call)
  const replaced = chatRequestTexts.replace(given, replace)
  if (replaced === given) return call
  const { request, context } = chatInput(replaceRequest(call, given, replaced))
  return updateCall(call, { request, context })
}
