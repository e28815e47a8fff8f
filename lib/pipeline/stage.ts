/**
 * The types of a pipeline, and three ways to make a stage.
 *
 * A stage is created once per configuration, at start-up and at each reload, from what it depends on; what
 * belongs to one call lives inside the iterator it returns. Any function from source to source is a stage:
 *
 * ```ts
 * const shout = (): Stage<string> => async function * (source) {
 *   for await (const text of source) yield text.toUpperCase()
 * }
 * ```
 *
 * For a stage made by `map`, `flatMap` or `transform` the functions that it calls are recorded as well: when
 * a pipeline is built, those of adjacent stages become one `FusedStages` (`fuse` of `pipeline/chain`). Memory
 * per waiting stream depends on the number of nested iterators, so the few between the provider's socket and
 * the caller's are written by hand.
 *
 * A stage that the configuration does not need is replaced by `pass`, or by the stage it would wrap: the list
 * of a pipeline is the same for every configuration.
 *
 * The sink pulls: it requests the first batch, which decides the status, from the stage before it, and so on
 * up to the call. A stage uses only `next()` and `return()` of its source. A client that leaves ends every
 * stage: `return()` passes up the chain, and `call.signal` aborts pending work.
 */

import { FusedStages, type StageFunctions, type Transformer } from './fused-stages.ts'

/** Takes a source and returns a source. Leaving early calls `return()` of its source. */
export type Stage<In, Out = In> = (source: AsyncIterable<In>) => AsyncIterable<Out>

/** A stage whose output has the type of its input. */
export type PassThroughStage<Bound> = <T extends Bound>(source: AsyncIterable<T>) => AsyncIterable<T>

/** Takes a source and returns one value: the end of a pipeline. */
export type Sink<In, Out> = (source: AsyncIterable<In>) => Promise<Out>

/**
 * Makes a stage from a function on one value: `map(chatInput)`. One value in, one out.
 *
 * @throws whatever `step` throws; before the provider is called, that becomes an HTTP error.
 */
export function map<In, Out> (step: (value: In) => Out | Promise<Out>): Stage<In, Out> {
  // The signature states the types of values; fused stages do not know them. `flatMap` and `transform` cast
  // for the same reason.
  return stageOf({ steps: [step as StageFunctions['steps'][number]], createTransformers: [] })
}

/**
 * Makes a stage that answers each value with its own source, one after the other, like `yield *` in a
 * generator.
 */
export function flatMap<In, Out> (open: (value: In) => AsyncIterable<Out>): Stage<In, Out> {
  return stageOf({ steps: [], open: open as StageFunctions['open'], createTransformers: [] })
}

/** Makes a stage of steps with shared state: at most one value out for each value in. */
export function transform<In, Out> (begin: () => Transformer<In, Out>): Stage<In, Out> {
  return stageOf({ steps: [], createTransformers: [begin as StageFunctions['createTransformers'][number]] })
}

/** The functions of each stage. Hand-written stages have no entry. */
const stageFunctions = new WeakMap<Stage<never, unknown>, StageFunctions>()

/** Makes the stage that calls these functions. */
export function stageOf<In, Out> (functions: StageFunctions): Stage<In, Out> {
  const stage: Stage<In, Out> = source => new FusedStages(source, functions)
  stageFunctions.set(stage, functions)
  return stage
}

/** Passes every value on: stands in for an optional stage that has nothing to do. */
export const pass: PassThroughStage<unknown> = stageOf({ steps: [], createTransformers: [] })

/** Returns the functions that a stage calls; `undefined` for a hand-written stage. */
export function functionsOf (stage: Stage<never, unknown>): StageFunctions | undefined {
  return stageFunctions.get(stage)
}
