/** Replaces texts in requests of Responses, and in the stored items they use. */

import { contextOf, updateCall, type RoutedCall } from '../../core/call.ts'
import { noteIgnored } from '../../core/record.ts'
import { replaceRequest } from '../replaced-request.ts'
import { responsesInput, type ResponsesContext, type ResponsesInputOptions } from './input.ts'
import { responsesItemTexts, responsesRequestTexts } from './text-places.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ResponsesRequest } from '../../../schemas/responses.ts'
import type { ReplaceText } from '../../json/place-table.ts'
import type { FoundItem } from './archive.ts'
import type { StoredInput } from './stored-input.ts'

/**
 * Replaces texts of a request and of the stored items it uses, as `Dialect.replaceTexts` says.
 *
 * @param options the options that the request's input was created with
 */
export function replaceResponseTexts (
  call: RoutedCall<ChatInput>,
  replace: ReplaceText,
  options: ResponsesInputOptions
): RoutedCall<ChatInput> {
  const { request: given, stored: found } = contextOf<ResponsesContext>(call)
  const replaced = responsesRequestTexts.replace(given, replace)
  const stored = withStoredTexts(found, replace)
  if (replaced === given && stored === found) return call
  return readAgain(call, replaced, { ...options, stored })
}

/**
 * Removes what the request asks for individual tokens, as `Dialect.asTextAnswer` says.
 *
 * @param options the options that the request's input was created with
 */
export function withoutTokens (
  call: RoutedCall<ChatInput>,
  options: ResponsesInputOptions
): RoutedCall<ChatInput> {
  const { request: given, stored } = contextOf<ResponsesContext>(call)
  const include = given.include?.filter(name => name !== logprobs)
  const isAsked =
    include?.length !== given.include?.length ||
    (given.top_logprobs ?? 0) > 0 ||
    call.routes.some(({ settings }) => settings?.['top_logprobs'] !== undefined)
  if (!isAsked) return call
  if (include?.length !== given.include?.length) noteIgnored(call.record.request, logprobs)
  if ((given.top_logprobs ?? 0) > 0) noteIgnored(call.record.request, 'top_logprobs')
  const other = { ...given, ...include !== undefined && { include }, top_logprobs: 0 }
  return readAgain(call, other, { ...options, stored })
}

/** Reads the changed request of a call. Approvals were checked with the caller's own texts. */
function readAgain (
  call: RoutedCall<ChatInput>,
  changed: ResponsesRequest,
  options: ResponsesInputOptions
): RoutedCall<ChatInput> {
  const { request: given } = contextOf<ResponsesContext>(call)
  const checked = call.request.toolApproval?.approved
  const { request, context } = responsesInput(replaceRequest(call, given, changed), { ...options, checked })
  return updateCall(call, { request, context })
}

const logprobs = 'message.output_text.logprobs'

function withStoredTexts (stored: StoredInput, replace: ReplaceText): StoredInput {
  const { continuation, items } = stored
  const continued = continuation && responsesItemTexts.replace(continuation.items, replace)
  const entries = [...items]
  const found = entries.map(([id, { item, origin }]): [string, FoundItem] => [
    id,
    { item: replaceItem(item, replace), origin }
  ])
  if (
    continued === continuation?.items &&
    found.every(([, { item }], index) => item === entries[index]?.[1].item)
  ) {
    return stored
  }
  return {
    items: new Map(found),
    ...continuation !== undefined &&
      continued !== undefined && { continuation: { ...continuation, items: continued } }
  }
}

function replaceItem (item: FoundItem['item'], replace: ReplaceText): FoundItem['item'] {
  const list = [item]
  return responsesItemTexts.replace(list, replace)[0] ?? item
}
