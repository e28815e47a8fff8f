/**
 * Sends the request of a route, and beside it one to the next route when the first is slow: the first answer
 * counts.
 */

import { hedge, type Send } from './hedge.ts'
import type { AttemptedCall, Closable, RouteAnswer, RouteAttempt } from './route-attempt.ts'

/** A second request, which has begun. */
export interface SecondAttempt<A> {
  readonly attempt: RouteAttempt
  readonly send: Send<A>
}

/**
 * Notes the outcome of the second request; that of the first, where it fails and no other succeeded, is left
 * to the caller.
 *
 * @param afterMs the time to wait for the first
 * @param startBeside begins the second request; `undefined` when there is none to make
 * @throws what the first one failed with, when no other succeeded
 */
export async function hedgedAnswer<A extends Closable> (
  call: Pick<AttemptedCall, 'record' | 'signal'>,
  first: RouteAttempt,
  afterMs: number,
  send: Send<A>,
  startBeside: () => SecondAttempt<A> | undefined
): Promise<RouteAnswer<A>> {
  let second: RouteAttempt | undefined
  const { answer, winner, firstFailure } = await hedge(afterMs, send, () => {
    const beside = startBeside()
    second = beside?.attempt
    return beside && (async attemptSignal => await sendBeside(call, beside, attemptSignal))
  }, answer => answer.close())

  if (winner === 'first' || second === undefined) {
    first.succeeded()
    second?.overtaken()
    return { route: first.route, answer }
  }
  if (firstFailure === undefined) first.overtaken()
  else first.failed(first.errorOf(firstFailure))
  call.record.modelId = second.route.modelId
  call.record.providerId = second.route.providerId
  return { route: second.route, answer }
}

async function sendBeside<A> (
  { signal }: Pick<AttemptedCall, 'signal'>,
  { attempt, send }: SecondAttempt<A>,
  attemptSignal: AbortSignal
): Promise<A> {
  try {
    const answer = await send(attemptSignal)
    attempt.succeeded()
    return answer
  } catch (error) {
    if (!attemptSignal.aborted && !signal.aborted) attempt.failed(attempt.errorOf(error))
    throw error
  } finally {
    attempt.end()
  }
}
