/**
 * Asks the providers of a call's routes, in order, until one answers; then there is no going back.
 *
 * The head of the answer, the role and whatever else comes before real output is held back: an
 * error among it can still be answered by another provider or with a proper status. The hold is
 * bounded in time, so that a model that thinks for minutes does not leave the caller without a
 * sign of life.
 */

import { GatewayError, asGatewayError } from '../errors.ts'
import { openAnswer, type OpenAnswer } from './open-answer.ts'
import { Attempts } from './attempts.ts'
import type { Batch } from '../batch.ts'
import type { Route, RoutedCall } from '../call.ts'
import type { Adapter, Provider } from '../providers/provider.ts'
import type { Providers } from '../services.ts'
import type { Stage } from '../stage.ts'

export interface ProviderCallOptions {
  /** Bytes of a whole answer. */
  readonly answerBytes: number
  /** Bytes of one event of a stream. */
  readonly eventBytes: number
}

/** A request whose answer may be streamed. */
export interface Streamable {
  readonly stream?: boolean | undefined
  readonly n?: number | undefined
}

/**
 * One call in, its answer out: at least one batch, the first of which holds real output or the
 * end of the answer. A whole answer is one batch.
 *
 * @param pick the adapter of a provider for this kind of request
 * @throws GatewayError before the first batch when no route could answer; after it when the
 *   answer broke off
 */
export function providerCall<R extends Streamable, E extends { readonly type: string }> (
  providers: Providers,
  pick: (provider: Provider) => Adapter<R, E> | undefined,
  options: ProviderCallOptions
): Stage<RoutedCall<R>, Batch<R, E>> {
  const attempts = new Attempts()
  return async function * (source) {
    for await (const call of source) {
      call.record.streamed = call.request.stream === true
      const { route, answer } = await firstAnswer(call, providers, pick, options, attempts)
      try {
        for (;;) {
          const events = await answer.next()
          if (events === undefined) break
          if (events.length > 0) yield { call, route, events }
        }
      } finally {
        answer.close()
      }
    }
  }
}

async function firstAnswer<R extends Streamable, E extends { readonly type: string }> (
  call: RoutedCall<R>,
  providers: Providers,
  pick: (provider: Provider) => Adapter<R, E> | undefined,
  options: ProviderCallOptions,
  attempts: Attempts
): Promise<{ route: Route, answer: OpenAnswer<E> }> {
  const { record, signal } = call
  let failure: GatewayError | undefined
  for (const [index, route] of call.routes.entries()) {
    const provider = providers.get(route.providerId)
    const adapter = provider === undefined ? undefined : pick(provider)
    if (provider === undefined || adapter === undefined) {
      failure ??= new GatewayError('model_not_found', {
        message: `The model \`${route.modelId}\` does not serve this endpoint.`, param: 'model'
      })
      continue
    }
    record.modelId = route.modelId
    record.providerId = provider.id
    const isLast = index === call.routes.length - 1
    for (let retry = 0; ; retry++) {
      try {
        attempts.count(provider.id, retry)
        return { route, answer: await openAnswer(call, route, provider, adapter, options) }
      } catch (error) {
        if (signal.aborted) throw signal.reason
        failure = asGatewayError(error)
        noteAttempt(call, route, failure)
        const waitMs = retry < provider.retries ? attempts.waitMs(provider.id, failure, retry, isLast) : undefined
        if (waitMs === undefined) break
        await attempts.wait(waitMs, signal)
      }
    }
    if (failure.failure === 'caller' && !failure.unsupported) throw failure
  }
  throw failure ?? new GatewayError('model_not_found', { param: 'model' })
}

function noteAttempt<R> ({ record }: RoutedCall<R>, route: Route, failure: GatewayError): void {
  record.failedAttempts ??= []
  record.failedAttempts.push(`${route.modelId}: ${failure.code}`)
}
