/**
 * Makes a request for a provider that speaks the dialect of the caller: the caller's own text, in which some
 * fields have other values. Anything printed anew could void a cached prompt, and unknown fields would be
 * lost.
 */

import { countKeys, readObjectText, replaceFields, type ObjectText } from '../json/object-text.ts'
import { isLargeRequest } from '../core/record.ts'
import { printInSlices } from '../json/print-in-slices.ts'
import type { RoutedCall } from '../core/call.ts'
import type { DirectRequest } from '../core/direct-request.ts'
import { callOptionNames } from '../../schemas/call-options.ts'
import type { RequestMedia } from '../core/caller-body.ts'

/** Fields that are for the gateway, as values for `directBody`: they are left out. */
export const withoutOptions: Readonly<Record<string, undefined>> =
  Object.fromEntries(callOptionNames.map(name => [name, undefined]))

/**
 * Returns the request as its caller wrote it; `undefined` for one that is too large to be looked through, and
 * is printed anew.
 */
export function callerText (
  { record, callerBody }: Pick<RoutedCall<unknown>, 'record' | 'callerBody'>,
  request: object
): string | undefined {
  return isLargeRequest(record) ? undefined : (callerBody?.()?.text() ?? JSON.stringify(request))
}

/**
 * Returns the body of a direct request.
 *
 * @param text of `callerText`
 * @param request the same, checked
 * @param values replace those of its fields; a field that is `undefined` here is left out
 * @param media of the request
 */
export function directBody (
  text: string | undefined, request: object, values: Readonly<Record<string, unknown>>, media?: RequestMedia
): DirectRequest['body'] {
  if (text === undefined) return () => printInSlices({ ...request, ...values }, media)
  const outline = readObjectText(text)
  // A field that comes twice would be one thing here and perhaps another at the provider.
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

/** Counts the fields that are absent from a checked request because they were null. */
function nullFields ({ fields }: ObjectText, request: object): number {
  return fields.size - Object.keys(request).length
}
