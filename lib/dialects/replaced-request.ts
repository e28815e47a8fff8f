import { renewAttribution } from '../validation/attribution.ts'
import { refine, type RoutedCall } from '../core/call.ts'
import { isLargeRequest } from '../core/record.ts'
import { spliceStrings } from '../json/splice-strings.ts'
import type { CallerBody } from '../core/caller-body.ts'

/**
 * Returns the call with a request in place of the caller's own, whose text has only the strings that differ:
 * as if the caller had sent that one.
 *
 * @param before the request as its caller sent it, checked
 * @param request the same with other strings
 */
export function withRequest<R extends object> (
  call: RoutedCall<unknown>,
  before: R,
  request: R
): Omit<RoutedCall<unknown>, 'request'> & { readonly request: R } {
  const given = call.callerBody
  let replaced: CallerBody | undefined
  const callerBody = (): CallerBody | undefined => {
    const body = replaced === undefined ? given?.() : undefined
    return replaced ??= body && replacedBody(body, before, request)
  }
  renewAttribution(before, request, call)
  // What a project keeps is what is left. A large one would be printed at once for it.
  call.record.bodies?.takeRequest(
    isLargeRequest(call.record) ? [] : [Buffer.from(callerBody()?.text() ?? JSON.stringify(request))]
  )
  return refine(call, { request, ...given !== undefined && { callerBody } })
}

/** Lists and objects in which nothing is replaced are still printed as they came. */
function replacedBody (body: CallerBody, before: object, request: object): CallerBody {
  let text: string | undefined
  return {
    text: () => (text ??= spliceStrings(body.text(), before, request)),
    print: object => body.print(object)
  }
}
