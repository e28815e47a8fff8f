/** Holds back an answer while guards are still inspecting its request. */

import { once } from '../pipeline/sources.ts'
import { flatMap, type Stage } from '../pipeline/stage.ts'
import { RefusableAnswer } from './refusable-answer.ts'
import type { Batch, RoutedCall } from '../core/call.ts'

/**
 * Starts the answer immediately, and passes its batches on when `call.requestVerdict` resolves. If it
 * rejects, the request to the provider is aborted.
 *
 * @throws the reason of the rejection, before the first batch; otherwise what `answer` throws
 */
export function afterVerdict<R, E> (
  answer: Stage<RoutedCall<R>, Batch<R, E>>
): Stage<RoutedCall<R>, Batch<R, E>> {
  return flatMap(call =>
    call.requestVerdict === undefined ? answer(once(call)) : heldBack(call, call.requestVerdict, answer)
  )
}

async function* heldBack<R, E> (
  call: RoutedCall<R>,
  verdict: Promise<void>,
  answerStage: Stage<RoutedCall<R>, Batch<R, E>>
): AsyncGenerator<Batch<R, E>, void, undefined> {
  const answer = new RefusableAnswer(call, answerStage)
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
