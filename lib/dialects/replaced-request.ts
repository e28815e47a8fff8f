import { renewAttribution } from '../validation/attribution.ts'
import { updateCall, type CallerBody, type RoutedCall } from '../core/call.ts'
import { isLargeRequest } from '../core/request-size.ts'
import { spliceStrings } from '../json/splice-strings.ts'

/**
 * Replaces the request of a call. Only the changed strings differ in its text, as if the caller had sent it
 * so.
 *
 * @param before the caller's request, validated
 * @param request the same with other strings
 */
export function replaceRequest<R extends object> (
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
  // Projects store the replaced request. A large one is printed immediately for that.
  call.record.bodies?.takeRequest(
    isLargeRequest(call.record.request) ? [] : [Buffer.from(callerBody()?.text() ?? JSON.stringify(request))]
  )
  return updateCall(call, { request, ...given !== undefined && { callerBody } })
}

/** Unchanged lists and objects are still copied from the caller's text. */
function replacedBody (body: CallerBody, before: object, request: object): CallerBody {
  let text: string | undefined
  return {
    text: () => (text ??= spliceStrings(body.text(), before, request)),
    print: object => body.print(object)
  }
}
