/**
 * Sends the request of a route, and a second one to the next route if the first has not begun to answer in
 * time. The first answer wins, and the other request is aborted. The extra load is capped.
 */

import { withTimeout } from '../async/with-timeout.ts'
import type { OpenResponse } from './open-response.ts'
import type { TriedCall, RouteAnswer, RouteAttempt } from './route-attempt.ts'

/** Sends a request; it ends early when the signal aborts. */
export type Send<A> = (signal: AbortSignal) => Promise<A>

/** A second request, already started. */
export interface SecondAttempt<E> {
  readonly attempt: RouteAttempt
  readonly send: Send<OpenResponse<E>>
}

/**
 * Records the outcome of the second request. The caller records that of the first if both fail.
 *
 * @param afterMs how long to wait for the first
 * @param startBeside starts the second request; `undefined` if there is none to make
 * @throws the error of the first one, if neither succeeded
 */
export async function hedgedAnswer<E> (
  call: Pick<TriedCall, 'record' | 'signal'>,
  first: RouteAttempt,
  afterMs: number,
  send: Send<OpenResponse<E>>,
  startBeside: () => SecondAttempt<E> | undefined
): Promise<RouteAnswer<E>> {
  let second: RouteAttempt | undefined
  const sendFirst: typeof send = async signal => {
    try {
      return await send(signal)
    } catch (error) {
      if (signal.aborted) first.aborted(error)
      throw error
    }
  }
  const { answer, winner, firstFailure } = await hedge(afterMs, sendFirst, () => {
    const beside = startBeside()
    second = beside?.attempt
    return beside && (async attemptSignal => await sendBeside(call, beside, attemptSignal))
  }, (late, loser) => (loser === 'first' ? first : second)?.discard(late))

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

async function sendBeside<E> (
  { signal }: Pick<TriedCall, 'signal'>,
  { attempt, send }: SecondAttempt<E>,
  attemptSignal: AbortSignal
): Promise<OpenResponse<E>> {
  try {
    const answer = await send(attemptSignal)
    attempt.succeeded()
    return answer
  } catch (error) {
    if (attemptSignal.aborted || signal.aborted) attempt.aborted(error)
    else attempt.failed(attempt.errorOf(error))
    throw error
  } finally {
    attempt.end()
  }
}

interface HedgeResult<A> {
  readonly answer: A
  readonly winner: 'first' | 'second'
  /** The error of the first request, if it failed before the second one succeeded. */
  readonly firstFailure?: unknown
}

/**
 * Sends the first request, and the second if the first has no answer after `afterMs`.
 *
 * @param second prepares the second request; `undefined` if there is none to make
 * @param discard releases the late answer of the request that lost
 * @throws the error of the first one, if neither succeeded
 */
export async function hedge<A> (
  afterMs: number,
  first: Send<A>,
  second: () => Send<A> | undefined,
  discard: (answer: A, loser: 'first' | 'second') => void
): Promise<HedgeResult<A>> {
  const [firstController, secondController] = [new AbortController(), new AbortController()]
  const primary = first(firstController.signal)
  const inTime = await withTimeout(afterMs, primary.then(() => true, () => true))
  if (inTime === true) return { answer: await primary, winner: 'first' }
  const send = second()
  if (send === undefined) return { answer: await primary, winner: 'first' }

  const other = send(secondController.signal)
  let failed: { readonly error: unknown } | undefined
  primary.catch((error: unknown) => { failed = { error } })
  const won = await Promise.any([
    primary.then(answer => ({ answer, winner: 'first' as const })),
    other.then(answer => ({ answer, winner: 'second' as const }))
  ]).catch((error: unknown) => {
    throw failed === undefined ? error : failed.error
  })
  const [loser, sent, controller] = won.winner === 'first'
    ? ['second' as const, other, secondController]
    : ['first' as const, primary, firstController]
  const firstFailure = failed?.error
  controller.abort(new Error('another request succeeded first'))
  sent.then(late => discard(late, loser), () => {
    /* aborted, or failed before: its sender has noted that */
  })
  return { ...won, ...firstFailure !== undefined && { firstFailure } }
}
