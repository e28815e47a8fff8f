/** Several stages as one. */

import { made, mapAll, recipeOf, type Stage } from './stage.ts'
import type { AnyStage, Connected, FirstIn, LastOut } from './stage-list.ts'

/**
 * Returns the same stages, those of a `chain` one by one, and neighbours of `map` as one, which is one iterator less for
 * each: seven pure steps on a call take 1.0 µs instead of 4.4.
 */
export function fuse (stages: ReadonlyArray<Stage<never, unknown>>): Array<Stage<never, unknown>> {
  const fused: Array<Stage<never, unknown>> = []
  for (const stage of stages.flatMap(unchained)) {
    const [last, next] = [fused.at(-1), recipeOf(stage)]
    const before = last === undefined ? undefined : recipeOf(last)
    if (before?.kind === 'map' && next?.kind === 'map') fused.splice(-1, 1, mapAll([...before.steps, ...next.steps]))
    else fused.push(stage)
  }
  return fused
}

function unchained (stage: Stage<never, unknown>): ReadonlyArray<Stage<never, unknown>> {
  const recipe = recipeOf(stage)
  return recipe?.kind === 'chain' ? recipe.stages : [stage]
}

/**
 * Returns several stages as one, fused as those of a pipeline are: for a stage that runs other stages, and for what several
 * pipelines have in common. `chain(capAnswer(services), providerCall(services, 'chat'), recordUsage())`
 */
export function chain<const L extends readonly AnyStage[]> (...list: Connected<L>): Stage<FirstIn<L>, LastOut<L>> {
  const stages = fuse(list as ReadonlyArray<Stage<never, unknown>>) // by its type
  const run = (source: AsyncIterable<unknown>): AsyncIterable<unknown> =>
    stages.reduce<AsyncIterable<unknown>>((before, stage) => stage(before as AsyncIterable<never>), source) // each takes what the one before it gives
  return made(run, { kind: 'chain', stages }) as Stage<FirstIn<L>, LastOut<L>>
}
