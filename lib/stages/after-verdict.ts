/** Keeps back an answer until the stages that look at its request meanwhile let it pass. */

import { flatMap, once, type Stage } from '../pipeline/stage.ts'
import { RefusableAnswer } from './refusable-answer.ts'
import type { Batch } from '../core/batch.ts'
import type { RoutedCall } from '../core/call.ts'

/**
 * Has another stage answer at once, and passes its batches on once the `verdict` of the call is in. A refusal
 * ends the request to the provider.
 *
 * @throws what the verdict of the call rejects with, before the first batch; else what `answer` throws
 */
export function afterVerdict<R, E> (
  answer: Stage<RoutedCall<R>, Batch<R, E>>
): Stage<RoutedCall<R>, Batch<R, E>> {
  return flatMap(call =>
    call.verdict === undefined ? answer(once(call)) : keptBack(call, call.verdict, answer)
  )
}

async function* keptBack<R, E> (
  call: RoutedCall<R>,
  verdict: Promise<void>,
  given: Stage<RoutedCall<R>, Batch<R, E>>
): AsyncGenerator<Batch<R, E>, void, undefined> {
  const answer = new RefusableAnswer(call, given)
  const first = answer.read()
  try {
    await verdict
    let step = await first
    for (; step.batch !== undefined; step = await answer.read()) yield step.batch
    if ('error' in step) throw step.error
  } catch (error) {
    answer.giveUp(error)
    throw error
  } finally {
    await answer.close()
  }
}
