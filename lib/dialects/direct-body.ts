/**
 * Creates the body for a provider that speaks the caller's dialect: the caller's own text with some fields
 * replaced. Reserialising it could invalidate a cached prompt, and would lose unknown fields.
 */

import { countKeys, readObjectText, replaceFields, type ObjectText } from '../json/object-text.ts'
import { isLargeRequest } from '../core/request-size.ts'
import { printInSlices } from '../json/print-in-slices.ts'
import type { RequestMedia, RoutedCall } from '../core/call.ts'
import type { DirectRequest } from '../core/direct-request.ts'
import { callOptionNames } from '../../schemas/call-options.ts'

/** Gateway fields as values for `directBody`, which removes them. */
export const withoutOptions: Readonly<Record<string, undefined>> =
  Object.fromEntries(callOptionNames.map(name => [name, undefined]))

/**
 * Returns the request as the caller sent it; `undefined` if it is too large to scan, so that it is
 * reserialised.
 */
export function callerText (
  { record, callerBody }: Pick<RoutedCall<unknown>, 'record' | 'callerBody'>,
  request: object
): string | undefined {
  return isLargeRequest(record.request) ? undefined : (callerBody?.()?.text() ?? JSON.stringify(request))
}

/**
 * Returns the body of a direct request.
 *
 * @param text from `callerText`
 * @param request the same request, validated
 * @param values replacements for its fields; `undefined` removes a field
 * @param media of the request
 */
export function directBody (
  text: string | undefined, request: object, values: Readonly<Record<string, unknown>>, media?: RequestMedia
): DirectRequest['body'] {
  if (text === undefined) return () => printInSlices({ ...request, ...values }, media)
  const outline = readObjectText(text)
  // The provider might read a duplicate field differently from the gateway.
  const isSame = outline !== undefined && outline.keys === countKeys(request) + nullFields(outline, request)
  const replaced = new Map<string, string>()
  let omits = false
  for (const name in values) {
    const value = values[name]
    if (value === undefined) omits ||= name in request || outline?.fields.has(name) === true
    else replaced.set(name, JSON.stringify(value))
  }
  return isSame && !omits ? replaceFields(text, outline, replaced) : JSON.stringify({ ...request, ...values })
}

/** Counts the fields that validation removed because they were null. */
function nullFields ({ fields }: ObjectText, request: object): number {
  return fields.size - Object.keys(request).length
}
