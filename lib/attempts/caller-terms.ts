/** Names the parameter of an error as the caller wrote it. */

import { GatewayError } from '../core/errors.ts'
import { ProviderFailure } from '../providers/provider-failure.ts'
import type { Adapter, AdapterInput } from '../providers/provider.ts'

/**
 * Returns the error of an adapter that refuses a request, or that a provider reports in any way, with the
 * caller's name of its parameter; any other error unchanged.
 */
export function inCallerTerms<R> (
  error: unknown,
  input: AdapterInput<R>,
  adapter: Pick<Adapter<R, unknown>, 'callerParam'>
): unknown {
  const nameOf = (param: string): string => adapter.callerParam?.(param, input) ?? param
  if (error instanceof ProviderFailure) {
    const { failure, status } = error
    const { kind, param = kind === 'context_length' ? 'messages' : undefined } = failure
    return param === undefined ? error : new ProviderFailure({ ...failure, param: nameOf(param) }, status)
  }
  if (!(error instanceof GatewayError) || error.param === null) return error
  const param = nameOf(error.param)
  return param === error.param
    ? error
    : error.with({ param, message: error.message.replaceAll(`\`${error.param}\``, `\`${param}\``) })
}
