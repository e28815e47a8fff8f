/**
 * Inserts a generator that changes nothing between all stages of every pipeline, as a user could: `await
 * import` this file first, then the tests to run that way. A loader replaces two functions of
 * `pipeline/chain` by the two below.
 */

import { register } from 'node:module'
import type { AnyStage } from '../../lib/pipeline/stage-list.ts'

const here = new URL(import.meta.url)
const address = new URL('../../lib/pipeline/chain.js', here).href

/** `pipeline/chain` itself: the loader tells the two apart by the address. */
const plain = await import(`${address}?plain`) as typeof import('../../lib/pipeline/chain.ts')

const loader = `
export async function resolve (specifier, context, next) {
  const resolved = await next(specifier, context)
  return resolved.url === ${JSON.stringify(address)} ? { ...resolved, url: ${JSON.stringify(here.href)} } : resolved
}`
register(`data:text/javascript,${encodeURIComponent(loader)}`)

let generators = 0

/** Generators that have run so far. */
export function countGenerators (): number {
  return generators
}

async function * unchanged (source: AsyncIterable<unknown>): AsyncGenerator {
  generators++
  yield * source
}

function everywhere (stages: readonly AnyStage[]): AnyStage[] {
  return [unchanged, ...stages.flatMap(stage => [stage, unchanged])]
}

export const fuse: typeof plain.fuse = stages => plain.fuse(everywhere(stages))

// generators pass their input on
export const chain = ((...list: readonly AnyStage[]) =>
  plain.chain(...everywhere(list))) as typeof plain.chain
