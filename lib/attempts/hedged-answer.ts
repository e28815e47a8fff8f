import { withTimeout } from '../async/with-timeout.ts'
import type { Call } from '../core/call.ts'
import type { OpenResponse } from './open-response.ts'
import type { RouteAttempt } from './route-attempt.ts'

/** Sends a request, which ends early when the signal aborts. */
export type Send<A> = (signal: AbortSignal) => Promise<A>

/**
 * Sends the request of the first attempt and, if it has not begun to answer after `afterMs`, that of a second
 * one. The answer that comes first wins, and the other request is aborted. Records the outcomes, except that
 * of the first attempt if both fail. `CallAttempts` limits the additional load.
 *
 * @param startHedge starts the second attempt; `undefined` if there is none to make
 * @throws the error of the first one, if neither succeeded
 */
export async function hedgedAnswer<E> (
  call: Pick<Call, 'record' | 'signal'>,
  first: RouteAttempt,
  afterMs: number,
  send: (attempt: RouteAttempt, signal: AbortSignal) => Promise<OpenResponse<E>>,
  startHedge: () => RouteAttempt | undefined
): Promise<OpenResponse<E>> {
  let second: RouteAttempt | undefined
  const sendFirst: Send<OpenResponse<E>> = async signal => {
    try {
      return await send(first, signal)
    } catch (error) {
      if (signal.aborted) first.recordAbort(error)
      throw error
    }
  }
  const sendSecond = async (attempt: RouteAttempt, signal: AbortSignal): Promise<OpenResponse<E>> => {
    try {
      const answer = await send(attempt, signal)
      attempt.recordSuccess()
      return answer
    } catch (error) {
      if (signal.aborted || call.signal.aborted) attempt.recordAbort(error)
      else attempt.recordFailure(attempt.recordError(error))
      throw error
    } finally {
      attempt.release()
    }
  }
  const { answer, winner, firstFailure } = await hedge(afterMs, sendFirst, () => {
    const attempt = second = startHedge()
    return attempt && (async signal => await sendSecond(attempt, signal))
  }, (late, loser) => (loser === 'first' ? first : second)?.discard(late))

  if (winner === 'first') {
    first.recordSuccess()
    second?.recordLostRace()
    return answer
  }
  if (firstFailure === undefined) first.recordLostRace()
  else first.recordFailure(first.recordError(firstFailure))
  call.record.routing.modelId = answer.route.modelId
  call.record.routing.providerId = answer.route.providerId
  return answer
}

interface HedgeResult<A> {
  readonly answer: A
  readonly winner: 'first' | 'second'
  /** The error of the first request, if it failed before the second one succeeded. */
  readonly firstFailure?: unknown
}

/**
 * Sends a second request if the first one is slow; the first to answer wins. Records nothing.
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
