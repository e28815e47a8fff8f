/** Combines several stages into one. */

import { functionsOf, stageOf, type Stage } from './stage.ts'
import type { StageFunctions } from './fused-stages.ts'
import type { AnyStage, Connected, FirstIn, LastOut } from './stage-list.ts'

/** The stages of each chain that could not be fused into one. */
const chained = new WeakMap<AnyStage, readonly AnyStage[]>()

/**
 * Fuses adjacent stages that can share one iterator: steps, then at most one source for each value, then
 * transformers. A `chain` is taken apart first.
 */
export function fuse (stages: readonly AnyStage[]): AnyStage[] {
  const fused: AnyStage[] = []
  for (const stage of stages.flatMap(one => chained.get(one) ?? [one])) {
    const before = fused.at(-1)
    const joined = before && join(functionsOf(before), functionsOf(stage))
    if (joined === undefined) fused.push(stage)
    else fused.splice(-1, 1, stageOf(joined))
  }
  return fused
}

/** Joins the functions of two stages, unless a step or source would come after a source or transformer. */
function join (
  one: StageFunctions | undefined,
  next: StageFunctions | undefined
): StageFunctions | undefined {
  if (one === undefined || next === undefined) return undefined
  const hasOnlySteps = one.open === undefined && one.createTransformers.length === 0
  const hasOnlyTransformers = next.open === undefined && next.steps.length === 0
  if (!hasOnlySteps && !hasOnlyTransformers) return undefined
  return {
    steps: [...one.steps, ...next.steps],
    open: one.open ?? next.open,
    createTransformers: [...one.createTransformers, ...next.createTransformers]
  }
}

/**
 * Combines stages into one, fused like those of a pipeline: for a stage that runs other stages, and for the
 * common part of several pipelines. `chain(capAnswer(services), providerCall(services, 'chat'),
 * recordUsage())`
 */
export function chain<const L extends readonly AnyStage[]> (
  ...list: Connected<L>
): Stage<FirstIn<L>, LastOut<L>> {
  const stages = fuse(list as readonly AnyStage[]) // by its type
  const [first, ...others] = stages
  const stage =
    others.length === 0 && first !== undefined
      ? first
      : // each accepts the output of the one before
        (source: AsyncIterable<unknown>) =>
          stages.reduce((before, next) => next(before as AsyncIterable<never>), source)
  if (stages.length > 1) chained.set(stage, stages)
  return stage as Stage<FirstIn<L>, LastOut<L>>
}
