/** Keeps back an answer until the stages that look at its request meanwhile let it pass. */

import { CallCancellation } from '../async/cancellation.ts'
import { extend, type RoutedCall } from '../core/call.ts'
import { flatMap, once, type Stage } from '../pipeline/stage.ts'
import type { Batch } from '../core/batch.ts'

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
  answer: Stage<RoutedCall<R>, Batch<R, E>>
): AsyncGenerator<Batch<R, E>, void, undefined> {
  const signal = new CallCancellation()
  const follow = (): void => signal.abort(call.signal.reason)
  if (call.signal.aborted) follow()
  else call.signal.addEventListener('abort', follow, { once: true })
  const batches = answer(once(extend(call, { signal })))[Symbol.asyncIterator]()
  const first = batches.next()
  first.catch(() => undefined) // it is read when the verdict is in
  try {
    await verdict
    for (let step = await first; step.done !== true; step = await batches.next()) yield step.value
  } catch (error) {
    signal.abort(error)
    throw error
  } finally {
    call.signal.removeEventListener('abort', follow)
    await batches.return?.()
  }
}
