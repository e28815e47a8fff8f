import { GatewayError } from '../core/errors.ts'
import { credentialOf } from '../providers/credential.ts'
import { describeRedirect } from '../providers/redirect.ts'
import type { Secret } from '../core/secret.ts'
import type { ResponseOrigin } from '../dialects/responses/archive.ts'
import type { Provider } from '../providers/provider.ts'

/** Short: the caller is waiting, and the gateway's own copy is already gone. */
const maxMs = 10_000
const maxBytes = 64 * 1024

/**
 * Deletes a response at the provider that keeps it, even if the caller leaves. A response that no longer
 * exists counts as deleted.
 *
 * @param provider of the response; `undefined` if it is no longer configured
 * @param keyId of the gateway key that owns the response
 * @param callerKey the caller's own key at the provider
 * @throws GatewayError or the reason of a timeout, if the response may still exist
 */
export async function deleteAtProvider (
  provider: Provider | undefined,
  { account, responseId }: ResponseOrigin,
  keyId: string,
  callerKey?: Secret
): Promise<void> {
  const request = provider?.adapters.chat?.deleteResponse?.(responseId)
  const credential = provider === undefined ? undefined : credentialOf(provider, account, callerKey)
  if (provider === undefined || request === undefined || credential === undefined) {
    throw new GatewayError('upstream_unreachable', {
      cause: 'the account that keeps the response is not configured'
    })
  }
  const { transport, timeouts } = provider
  const response = await transport.send(request, {
    signal: AbortSignal.timeout(maxMs),
    credential,
    timeouts,
    streamed: false,
    keyId
  })
  const { status, body } = response
  if (status !== 404 && (status < 200 || status > 299)) {
    body.cancel()
    const cause = describeRedirect(response) ?? `status ${status} of the deletion of a response`
    throw new GatewayError('upstream_error', { cause })
  }
  await body.buffer(maxBytes)
}
