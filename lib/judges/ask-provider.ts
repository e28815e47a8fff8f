/** Sends one request of a guard to a configured provider, with its key, and reads the complete answer. */

import { GatewayError } from '../core/errors.ts'
import { readOrRefuse } from '../attempts/open-response.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import type { TextAtPoint } from '../guards/text-judge.ts'
import type { Adapter, AdapterInput, Provider } from '../providers/provider.ts'
import type { Route } from '../core/route.ts'
import type { LookedAtCall } from './judge-client.ts'

const maxAnswerBytes = 4 * 1024 * 1024
/** Characters from which on a request is printed in slices. */
const largeLength = 1024 * 1024

/** Returns true for texts so long that the request for them is printed while it is sent. */
export function areLarge (texts: readonly TextAtPoint[]): boolean {
  return texts.reduce((sum, { text }) => sum + text.length, 0) >= largeLength
}

/** Returns the route of a model that is named as `provider/model`. */
export function routeOf (model: string): Route {
  const [providerId = ''] = model.split('/', 1)
  return { providerId, modelId: model, model: model.slice(providerId.length + 1) }
}

/**
 * Returns the events of the answer.
 *
 * @throws GatewayError where the provider fails, or its answer is not what its API says: `acceptedByProvider`
 *   then; ProviderFailure for an answer that is an error
 */
export async function askProvider<R, E> (
  provider: Provider,
  adapter: Adapter<R, E>,
  asked: Pick<AdapterInput<R>, 'request' | 'route' | 'isLarge'>,
  call: LookedAtCall
): Promise<readonly E[]> {
  const input = { ...asked, quirks: provider.quirks, streamed: false }
  const response = await provider.transport.send(adapter.request(input), {
    ...call,
    credential: provider.authorize(),
    timeouts: provider.timeouts,
    streamed: false
  })
  const text = (await response.body.buffer(maxAnswerBytes)).toString()
  if (response.status !== 200) {
    throw new GatewayError('upstream_error', { cause: `status ${response.status} of ${provider.id}` })
  }
  const reader = adapter.read(response, input)
  if (reader.as !== 'json') throw new Error(`the answer of ${provider.id} is not JSON`)
  try {
    return readOrRefuse(() => reader.read(parseBounded(text)))
  } catch (error) {
    throw error instanceof GatewayError ? error.with({ acceptedByProvider: true }) : error
  }
}
