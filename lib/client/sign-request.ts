import { abortable } from '../async/cancellation.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { GatewayError } from '../core/errors.ts'
import { ProviderFailure } from '../providers/provider-failure.ts'
import type { CredentialHeaders, Signer, UnsignedRequest } from '../providers/credential.ts'
import type { SendOptions } from '../providers/provider.ts'

/**
 * Returns the headers that a signer creates for a request.
 *
 * @throws GatewayError `upstream_timeout` if the signer exceeds the connection timeout, and
 *   `upstream_unreachable` for unexpected errors; the signer's own ProviderFailure or GatewayError; or the
 *   signal's reason
 */
export async function signRequest (
  { sign }: Signer,
  request: UnsignedRequest,
  { signal, timeouts }: Pick<SendOptions, 'signal' | 'timeouts'>
): Promise<CredentialHeaders> {
  try {
    const headers = sign(request)
    if (!(headers instanceof Promise)) return headers
    const inTime = await withTimeout(timeouts.connectMs, abortable(headers, signal))
    if (inTime !== undefined) return inTime
    throw new GatewayError('upstream_timeout', { cause: 'the signer took too long' })
  } catch (error) {
    if (signal.aborted || error instanceof GatewayError || error instanceof ProviderFailure) throw error
    throw new GatewayError('upstream_unreachable', { cause: error })
  }
}
