/**
 * One question in several requests, for providers that take only so much in one (`Adapter.slices`).
 */

import {
  openAttempt, bufferedAttempt, type AttemptCall, type OpenAttempt, type ProviderCallOptions, type AttemptRequest
} from './attempt.ts'
import type { Adapter, Ask, Provider } from '../providers/provider.ts'

/** Requests of one call that are under way at once. */
const parallel = 4

/**
 * Asks slice after slice, a few at a time, and reads each answer to its end. The first failure is
 * the failure of all; the others are cancelled.
 *
 * @throws GatewayError what a slice failed with
 */
export async function openSlices<R extends AttemptRequest, E extends { readonly type: string }> (
  call: AttemptCall, ask: Ask<R>, provider: Provider, adapter: Adapter<R, E>, options: ProviderCallOptions
): Promise<OpenAttempt<E>> {
  const { slices } = adapter
  const asks = slices?.split(ask) ?? [ask]
  const [only = ask, ...others] = asks
  if (slices === undefined || others.length === 0) return await openAttempt(call, only, provider, adapter, options)

  const failed = new AbortController()
  const signal = AbortSignal.any([call.signal, failed.signal])
  const answers: E[][] = []
  const waiting = asks.entries()
  const takeTurns = async (): Promise<void> => {
    for (const [index, slice] of waiting) {
      answers[index] = await eventsOf(await openAttempt({ ...call, signal }, slice, provider, adapter, options))
    }
  }
  try {
    await Promise.all(Array.from({ length: parallel }, takeTurns))
  } catch (error) {
    failed.abort(error)
    throw error
  }
  return bufferedAttempt(slices.join(answers))
}

async function eventsOf<E> (answer: OpenAttempt<E>): Promise<E[]> {
  const events: E[] = []
  for (let next = await answer.next(); next !== undefined; next = await answer.next()) events.push(...next)
  return events
}
