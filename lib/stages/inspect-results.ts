/** Runs the guards on answers whose events hold complete texts: images, documents and recordings. */

import { GatewayError } from '../core/errors.ts'
import { judgeTexts } from '../guards/gathered-texts.ts'
import { replaceInSlices } from '../guards/replace-in-slices.ts'
import { TextFilters, type TextLayer, type TextGuards } from '../guards/text-guards.ts'
import { once } from '../pipeline/sources.ts'
import { flatMap, type Stage } from '../pipeline/stage.ts'
import type { Batch, RoutedCall } from '../core/call.ts'
import type { ReplaceText } from '../json/place-table.ts'
import { replaceInError } from '../guards/replace-in-error.ts'

/** Returns a value with its texts replaced, or the same value where nothing differs. */
export type ReplaceValue<T> = (value: T, replace: ReplaceText) => T

/**
 * Replaces what the guards find in the answers of another stage. A module that handles the events of
 * conversations is skipped.
 *
 * @param guards absent: answers pass unchanged
 * @throws GatewayError for a finding that refuses the call; otherwise what `answer` throws, with its texts
 *   replaced
 */
export function inspectResults<R, E> (
  guards: TextGuards | undefined,
  replaceEvent: ReplaceValue<E>,
  answer: Stage<RoutedCall<R>, Batch<R, E>>
): Stage<RoutedCall<R>, Batch<R, E>> {
  if (guards === undefined) return answer
  const replaceEvents: ReplaceValue<readonly E[]> = (events, replace) => {
    const others = events.map(event => replaceEvent(event, replace))
    return others.every((event, index) => event === events[index]) ? events : others
  }
  return flatMap(async function * (call) {
    const batches = answer(once(call))[Symbol.asyncIterator]()
    try {
      for (;;) {
        let step: IteratorResult<Batch<R, E>, unknown>
        try {
          step = await batches.next()
        } catch (error) {
          throw error instanceof GatewayError ? await inspected(guards, call, error, replaceInError) : error
        }
        if (step.done === true) return
        const { value } = step
        yield { ...value, events: await inspected(guards, call, value.events, replaceEvents) }
      }
    } finally {
      await batches.return?.()
    }
  })
}

/**
 * Runs each guard on a value that is part of the answer to a call.
 *
 * @throws GatewayError for a finding that refuses the call
 */
async function inspected<T> (
  { layers }: TextGuards,
  call: RoutedCall<unknown>,
  given: T,
  replaceTexts: ReplaceValue<T>
): Promise<T> {
  let value = given
  for (const layer of layers) value = await inspectOnce(layer, call, value, replaceTexts)
  return value
}

async function inspectOnce<T> (
  layer: TextLayer,
  call: RoutedCall<unknown>,
  value: T,
  replaceTexts: ReplaceValue<T>
): Promise<T> {
  if (layer.kind === 'stages') return value
  if (layer.kind === 'judge') {
    const judge = layer.forCall(call, 'answer')
    return judge === undefined ? value : await judgeTexts(judge, value, replaceTexts)
  }
  const filters = new TextFilters(layer, call, 'answer')
  return filters.isEmpty ? value : await replaceInSlices(value, filters, replaceTexts)
}
