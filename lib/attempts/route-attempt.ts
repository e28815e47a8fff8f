import { callerError, ProviderFailure, requestsOfError } from '../providers/provider-failure.ts'
import type { ModelAttempt } from '../routing/model-circuit.ts'
import type { PlannedAttempt } from './attempt-plan.ts'
import type { OpenResponse } from './open-response.ts'
import { asGatewayError, type GatewayError } from '../core/errors.ts'
import type { ChildSpan } from '../core/call-trace.ts'
import type { RecordedAttempt } from '../core/record.ts'
import type { WastedRequest } from '../core/usage-facts.ts'
import { capParts, type Usage } from '../core/usage.ts'
import type { Route } from '../core/route.ts'
import type { Call, RoutedCall } from '../core/call.ts'
import type { RoutingState } from '../routing/routing-state.ts'
import type { Provider } from '../providers/provider.ts'

/** What is known of a request whose answer is not used. */
export type UnusedRequest = Pick<WastedRequest, 'usage' | 'share'>

/**
 * One attempt at a route, from its start to its outcome, which it records in the health of the route and in
 * the record of the call. `CallAttempts` and `hedgedAnswer` send its request, call one of the `record…`
 * methods, and then `release`.
 */
export class RouteAttempt {
  readonly route: Route
  readonly startedAtMs = performance.now()
  /** The index of the gateway's credential, if the provider has several. */
  readonly credentialIndex: number | undefined
  /** The span of its request; absent where the call has no trace. */
  readonly span: ChildSpan | undefined
  readonly #call: RoutedCall<{ readonly stream?: boolean | undefined }>
  readonly #provider: Provider
  readonly #state: RoutingState
  readonly #circuitAttempt: ModelAttempt
  readonly #record: RecordedAttempt
  #mayBeAtWork = false

  /** Starts an attempt; `release` must follow in every case. */
  constructor (
    call: RoutedCall<{ readonly stream?: boolean | undefined }>,
    provider: Provider,
    { route, credentialIndex }: Pick<PlannedAttempt, 'route' | 'credentialIndex'>,
    state: RoutingState
  ) {
    this.route = route
    this.credentialIndex = credentialIndex
    this.#call = call
    this.#provider = provider
    this.#state = state
    this.#circuitAttempt = state.begin(route, call.key.id)
    this.span = call.record.trace?.child()
    this.#record = {
      route,
      startedAtMs: this.startedAtMs,
      outcomeAtMs: undefined,
      endedAtMs: undefined,
      reason: undefined,
      status: undefined,
      span: this.span
    }
    // a literal: V8 reserves 16 places when an empty list grows
    if (call.record.routing.attempts === undefined) call.record.routing.attempts = [this.#record]
    else call.record.routing.attempts.push(this.#record)
  }

  /** True once a provider may be at work on the attempt, and until it is known that none is. */
  get mayBeAtWork (): boolean {
    return this.#mayBeAtWork
  }

  /** Records that a request has left the gateway. */
  recordSent (): void {
    if (this.#mayBeAtWork) return
    this.#mayBeAtWork = true
    this.#call.record.routing.attemptsAtWork++
  }

  recordSuccess (): void {
    const outcomeAtMs = performance.now()
    this.#record.outcomeAtMs = outcomeAtMs
    this.#state.succeeded(
      this.route,
      this.#circuitAttempt,
      this.#call.request.stream === true,
      outcomeAtMs - this.startedAtMs
    )
  }

  /** Records the status of a failed response, and returns the error for the caller. */
  recordError (thrown: unknown): GatewayError {
    if (thrown instanceof ProviderFailure) this.#record.status = thrown.status
    const { id, secrets } = this.#provider
    const error = callerError(thrown, secrets, this.#call.providerKey)
    if (error.code !== 'upstream_auth_failed') return error
    const reason =
      secrets.length === 0
        ? 'refused the call: this gateway has no credential for it'
        : 'refused the credential of this gateway'
    return error.with({
      message: `The provider \`${id}\` ${reason}. The operator of this gateway can run \`headgate doctor\` to find out why.`
    })
  }

  /** @param error see `recordError` */
  recordFailure (error: GatewayError): void {
    this.recordProviderStopped()
    this.#setOutcome(error.code)
    const requests = requestsOfError(error)
    this.#recordWasted(requests)
    if (requests.length === 0 && isWasted(error) && !error.isRecorded) {
      recordWasted(this.#call, this.route, {})
    }
    this.#state.failed(this.route, this.#circuitAttempt, error, this.credentialIndex)
    recordUnusedRoute(this.#call, this.route, error.code)
  }

  /** Records that another request succeeded first. */
  recordLostRace (): void {
    if (this.#record.reason === undefined) recordUnusedRoute(this.#call, this.route, 'slower')
    this.#setOutcome('slower')
  }

  /** Closes an answer that arrived after that of another request. */
  discard (answer: OpenResponse<unknown>): void {
    this.#recordWasted(answer.reported().requests)
    answer.close()
  }

  /** Records the usage of a request that was aborted because another one succeeded, or the call ended. */
  recordAbort (error: unknown): void {
    this.#recordWasted(requestsOfError(error))
  }

  /** Records that the connection was lost and the same request is sent again. */
  recordReconnect (): void {
    this.recordProviderStopped()
    this.#setOutcome('reconnect')
  }

  /** Records that no provider is at work on the attempt any more. */
  recordProviderStopped (): void {
    if (!this.#mayBeAtWork) return
    this.#mayBeAtWork = false
    this.#call.record.routing.attemptsAtWork--
  }

  /** Call it last, after the outcome. Without one, the call was aborted. */
  release (): void {
    this.#state.ended(this.route, this.#circuitAttempt)
    const { signal } = this.#call
    if (this.#record.outcomeAtMs === undefined && signal.aborted) {
      this.#setOutcome(asGatewayError(signal.reason).code)
    }
  }

  /** Records when and why a request ended without a used answer. Only the first call has an effect. */
  #setOutcome (reason: string): void {
    this.#record.outcomeAtMs ??= performance.now()
    this.#record.reason ??= reason
  }

  /** @param requests the usage of each request */
  #recordWasted (requests: readonly Usage[]): void {
    for (const usage of requests) recordWasted(this.#call, this.route, { usage })
  }
}

/** Records that the answer of a route was read to its end, or cut off. */
export function recordAnswerClosed ({ record }: Pick<Call, 'record'>, route: Route): void {
  const attempt = record.routing.attempts?.findLast(one => one.route === route)
  if (attempt !== undefined) attempt.endedAtMs ??= performance.now()
}

/** Records a failed attempt for an answer that broke off after its attempt had succeeded. */
export function recordBrokenAnswer (call: Pick<Call, 'record'>, route: Route, reason: string): void {
  const attempt = call.record.routing.attempts?.findLast(one => one.route === route)
  if (attempt !== undefined) attempt.reason ??= reason
  recordUnusedRoute(call, route, reason)
}

/** Returns true for the error of a request that its provider bills, or may bill. */
export function isWasted ({ acceptedByProvider, mayBeBilled }: GatewayError): boolean {
  return acceptedByProvider === true || mayBeBilled
}

/** Records a wasted request, with the usage that its provider reported, if any. */
export function recordWasted (
  { record }: Pick<Call, 'record'>, { modelId }: Route, { usage, share }: UnusedRequest
): void {
  record.usage.wasted ??= []
  const { countPrompt } = record.usage.openTurn ?? {}
  record.usage.wasted.push({
    modelId,
    usage: usage && capParts(usage),
    ...share !== undefined && { share },
    ...countPrompt !== undefined && { countPrompt }
  })
}

/** Adds to the record why a route did not answer. */
export function recordUnusedRoute ({ record }: Pick<Call, 'record'>, route: Route, reason: string): void {
  record.routing.unusedRoutes ??= []
  record.routing.unusedRoutes.push({ route, reason })
}
