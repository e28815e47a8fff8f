/**
 * The two shapes a pipeline is made of.
 *
 * A stage is built once, at start-up, from what it depends on; what belongs to one call lives
 * inside the generator it returns:
 *
 * ```ts
 * const shout = (): Stage<string> => async function * (source) {
 *   for await (const text of source) yield text.toUpperCase()
 * }
 * ```
 */

/** Takes a source, returns a source. Leaving early returns the source it was given. */
export type Stage<In, Out = In> = (source: AsyncIterable<In>) => AsyncIterable<Out>

/** Takes a source, returns one value: the end of a pipeline. */
export type Sink<In, Out> = (source: AsyncIterable<In>) => Promise<Out>

/** A source of exactly one value: how a call enters its pipeline. */
export async function * once<T> (value: T): AsyncGenerator<T, void, undefined> {
  yield value
}

/**
 * Makes a stage of a pure step on one call: `perCall(resolvePrompt)`.
 *
 * @throws whatever `step` throws; before the provider is called that is an HTTP error.
 */
export function perCall<In, Out> (step: (call: In) => Out | Promise<Out>): Stage<In, Out> {
  return async function * (source) {
    for await (const call of source) yield await step(call)
  }
}
