/**
 * Starts a second request when the first has not begun to answer in time; the first answer of the two wins,
 * and the other request is aborted. The extra load is capped.
 */

/** Sends a request; it ends early when the signal aborts. */
export type Send<A> = (signal: AbortSignal) => Promise<A>

export interface HedgeResult<A> {
  readonly answer: A
  readonly winner: 'first' | 'second'
  /** True when the second was started. */
  readonly hedged: boolean
  /** The error of the first one, if it failed before the second one succeeded. */
  readonly firstFailure?: unknown
}

/**
 * Sends the first request, and the second when the first has no answer after `afterMs`.
 *
 * @param second prepares the second request; `undefined` when there is none to make
 * @param discard releases an answer that came too late
 * @throws what the first one failed with, when no other succeeded
 */
export async function hedge<A> (
  afterMs: number, first: Send<A>, second: () => Send<A> | undefined, discard: (answer: A) => void
): Promise<HedgeResult<A>> {
  const [firstController, secondController] = [new AbortController(), new AbortController()]
  const primary = first(firstController.signal)
  if (await settlesWithin(afterMs, primary)) return { answer: await primary, winner: 'first', hedged: false }
  const send = second()
  if (send === undefined) return { answer: await primary, winner: 'first', hedged: false }

  const other = send(secondController.signal)
  let failed: { readonly error: unknown } | undefined
  primary.catch((error: unknown) => { failed = { error } })
  const won = await Promise.any([
    primary.then(answer => ({ answer, winner: 'first' as const })),
    other.then(answer => ({ answer, winner: 'second' as const }))
  ]).catch((error: unknown) => {
    throw failed === undefined ? error : failed.error
  })
  const [loser, controller] = won.winner === 'first' ? [other, secondController] : [primary, firstController]
  const firstFailure = failed?.error
  controller.abort(new Error('another request succeeded first'))
  loser.then(discard, () => { /* aborted, or failed before: its sender has noted that */ })
  return { ...won, hedged: true, ...firstFailure !== undefined && { firstFailure } }
}

async function settlesWithin (ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => { timer = setTimeout(resolve, ms, false) })
  try {
    return await Promise.race([promise.then(() => true, () => true), late])
  } finally {
    clearTimeout(timer)
  }
}
