import fc from 'fast-check'
import t from 'tap'
import { chain, fuse } from '../../lib/pipeline/chain.ts'
import { flatMap, map, once, recipeOf, transform, type Stage } from '../../lib/pipeline/stage.ts'
import { collect } from '../support/stages.ts'

async function * numbers (count: number): AsyncGenerator<number> {
  for (let number = 1; number <= count; number++) yield number
}

t.test('fuse makes neighbours of map one stage, and leaves the others where they were', async t => {
  const plusOne = map((value: number) => value + 1)
  const byHand: Stage<number> = source => source
  const fused = fuse([plusOne, plusOne, byHand, plusOne, flatMap(once), plusOne, plusOne, plusOne])
  t.same(fused.map(stage => recipeOf(stage)?.kind), ['map', undefined, 'map', 'flatMap', 'map'])
  t.same(fused.map(stage => recipeOf(stage)).flatMap(recipe => recipe?.kind === 'map' ? recipe.steps.length : []), [2, 1, 3])
})

t.test('fused and plain stages give the same', async () => {
  const step = fc.constantFrom<Stage<number>>(
    map((value: number) => value + 1),
    map(async (value: number) => await Promise.resolve(value * 2)),
    flatMap((value: number) => numbers(value % 3)),
    transform(() => ({ push: (value: number) => value % 5 === 0 ? undefined : value, end: () => 7 })),
    source => source,
    chain(map((value: number) => value - 1), flatMap((value: number) => numbers(value % 4)), map((value: number) => value * 3))
  )
  const run = async (stages: ReadonlyArray<Stage<number>>): Promise<number[]> => {
    return await collect(stages.reduce((source, stage) => stage(source), numbers(6) as AsyncIterable<number>))
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 8 }), async stages => {
    const [plain, fused] = [await run(stages), await run(fuse(stages) as Array<Stage<number>>)] // of the same stages
    return JSON.stringify(plain) === JSON.stringify(fused)
  }))
})

t.test('chain is several stages as one, and one by one where it is fused', async t => {
  const plusOne = map((value: number) => value + 1)
  t.same(await collect(chain(plusOne, map(String))(numbers(2))), ['2', '3'])
  t.same(await collect(chain(plusOne, flatMap(once), plusOne)(numbers(2))), [3, 4])
  const kinds = (...stages: ReadonlyArray<Stage<number>>) => fuse(stages).map(stage => recipeOf(stage)?.kind)
  t.same(kinds(plusOne, chain(plusOne, chain(plusOne, flatMap(once))), plusOne), ['map', 'flatMap', 'map'])
  t.same(kinds(chain(plusOne, plusOne)), ['map'])
})
