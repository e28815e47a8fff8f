/**
 * Sends one request of a guard to a configured provider, with that provider's key, and reads the complete
 * answer.
 */

import { GatewayError } from '../core/errors.ts'
import { readOrRefuse } from '../attempts/parse-response.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { describeRedirect } from '../providers/redirect.ts'
import type { TextAtPoint } from '../guards/text-judge.ts'
import type { Adapter, AdapterInput, Provider } from '../providers/provider.ts'
import type { Route } from '../core/route.ts'
import type { InspectedCall } from './judge-client.ts'

const maxAnswerBytes = 4 * 1024 * 1024
/** Requests of at least this many characters are printed in slices. */
const largeLength = 1024 * 1024

/** Returns true for texts so long that their request is printed while it is sent. */
export function areLarge (texts: readonly TextAtPoint[]): boolean {
  return texts.reduce((sum, { text }) => sum + text.length, 0) >= largeLength
}

/** Returns the route for a model named `provider/model`. */
export function routeOf (model: string): Route {
  const [providerId = ''] = model.split('/', 1)
  return { providerId, modelId: model, model: model.slice(providerId.length + 1) }
}

/**
 * Returns the events of the answer.
 *
 * @throws GatewayError if the provider fails or returns an invalid answer (then with `acceptedByProvider`);
 *   ProviderFailure for an error answer
 */
export async function askProvider<R, E> (
  provider: Provider,
  adapter: Adapter<R, E>,
  asked: Pick<AdapterInput<R>, 'request' | 'route' | 'isLarge'>,
  call: InspectedCall
): Promise<readonly E[]> {
  const input = { ...asked, quirks: provider.quirks, streamed: false }
  const response = await provider.transport.send(adapter.request(input), {
    ...call,
    credential: provider.authorize(),
    timeouts: provider.timeouts,
    streamed: false
  })
  if (response.status !== 200) {
    response.body.cancel()
    const message = describeRedirect(response)
    throw new GatewayError('upstream_error', { message, cause: `status ${response.status} of ${provider.id}` })
  }
  const reader = adapter.read(response, input)
  if (reader.as !== 'json') throw new Error(`the answer of ${provider.id} is not JSON`)
  // The provider has done its work, and bills it, whatever arrives of its answer.
  try {
    const text = (await response.body.buffer(maxAnswerBytes)).toString()
    return readOrRefuse(() => reader.read(parseBounded(text)))
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw error.with({ acceptedByProvider: error.acceptedByProvider ?? true })
  }
}
