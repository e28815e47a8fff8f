import fc from 'fast-check'
import t from 'tap'
import { chain, fuse } from '../../lib/pipeline/chain.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { flatMap, map, functionsOf, transform, type Stage } from '../../lib/pipeline/stage.ts'
import { collect } from '../support/stages.ts'

async function * numbers (count: number): AsyncGenerator<number> {
  for (let number = 1; number <= count; number++) yield number
}

/**
 * Returns how many steps, sources and transformers each stage consists of; `undefined` for one written by
 * hand.
 */
function sizes (stages: ReadonlyArray<Stage<never, unknown>>): unknown[] {
  return stages
    .map(functionsOf)
    .map(made => made && [made.steps.length, made.open === undefined ? 0 : 1, made.createTransformers.length])
}

const plusOne = map((value: number) => value + 1)
const same = transform(() => ({ push: (value: number) => value }))
const byHand: Stage<number> = source => source

t.test(
  'fuse joins adjacent stages that can share an iterator, and leaves others in place',
  async t => {
    t.same(sizes(fuse([plusOne, plusOne, flatMap(once), same, same])), [[2, 1, 2]])
    t.same(sizes(fuse([plusOne, byHand, plusOne, same])), [[1, 0, 0], undefined, [1, 0, 1]])
    t.same(
      sizes(fuse([flatMap(once), flatMap(once)])),
      [
        [0, 1, 0],
        [0, 1, 0]
      ],
      'a source for each value of a source'
    )
    t.same(
      sizes(fuse([same, plusOne, flatMap(once), plusOne])),
      [
        [0, 0, 1],
        [1, 1, 0],
        [1, 0, 0]
      ],
      'no step moves over a transformer or a source'
    )
  }
)

t.test('fused and plain stages give the same values', async () => {
  const step = fc.constantFrom<Stage<number>>(
    map((value: number) => value + 1),
    map(async (value: number) => await Promise.resolve(value * 2)),
    flatMap((value: number) => numbers(value % 3)),
    transform(() => ({ push: (value: number) => (value % 5 === 0 ? undefined : value), end: () => 7 })),
    source => source,
    chain(
      map((value: number) => value - 1),
      flatMap((value: number) => numbers(value % 4)),
      map((value: number) => value * 3)
    )
  )
  const run = async (stages: ReadonlyArray<Stage<number>>): Promise<number[]> => {
    return await collect(stages.reduce((source, stage) => stage(source), numbers(6) as AsyncIterable<number>))
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 8 }), async stages => {
    // of the same stages
    const [plain, fused] = [await run(stages), await run(fuse(stages) as Array<Stage<number>>)]
    return JSON.stringify(plain) === JSON.stringify(fused)
  }))
})

t.test('chain makes one stage of several, which fuse takes apart again', async t => {
  t.same(await collect(chain(plusOne, map(String))(numbers(2))), ['2', '3'])
  t.same(await collect(chain(plusOne, flatMap(once), plusOne)(numbers(2))), [3, 4])
  t.same(sizes(fuse([plusOne, chain(plusOne, chain(byHand, flatMap(once))), same])), [
    [2, 0, 0],
    undefined,
    [0, 1, 1]
  ])
  t.same(sizes([chain(plusOne, plusOne), chain(plusOne, byHand)]), [[2, 0, 0], undefined])
})
