/** Makes the inputs for a test of one stage: a call, batches of events, and the collected output. */

export { collect } from '../../lib/pipeline/sources.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { everywhere } from '../../lib/json/place-table.ts'
import type { Batch, Call, RoutedCall } from '../../lib/core/call.ts'
import type { DirectRequests } from '../../lib/dialects/dialect.ts'
import type { Route } from '../../lib/core/route.ts'

export const route: Route = { providerId: 'one', model: 'm', modelId: 'one/m' }

/** Returns a call as received from a socket. */
export function receivedCall<Parts extends Partial<Call>> (parts: Parts): Call & Parts {
  return {
    id: 'call-1',
    headers: {},
    params: {},
    body: async () => undefined,
    signal: new AbortController().signal,
    receivedAtMs: performance.now(),
    record: new CallRecord('chat'),
    ...parts
  }
}

/** Returns a call as it is after routing. */
export function routedCall<R> (request: R, parts: Partial<RoutedCall<R>> = {}): RoutedCall<R> {
  return receivedCall({
    body: async () => request,
    key: { id: 'key-1', name: 'test' },
    request,
    routes: [route],
    ...parts
  })
}

/** Returns the direct requests of a dialect that providers speak as `messages`. */
export function directRequests (parts: Partial<DirectRequests>): DirectRequests {
  return {
    dialect: 'messages',
    request: () => undefined,
    uses: () => [],
    texts: { answer: everywhere(undefined), frames: everywhere(undefined), textOf: () => ({ key: '' }) },
    ...parts
  }
}

/** Yields the batches of one answer, one for each list of events; `failure` is thrown after the last. */
export async function * batchesOf<R, E> (
  call: RoutedCall<R>, lists: ReadonlyArray<readonly E[]>, failure?: unknown
): AsyncGenerator<Batch<R, E>, void, undefined> {
  for (const events of lists) yield { call, route, events }
  if (failure !== undefined) throw failure
}
