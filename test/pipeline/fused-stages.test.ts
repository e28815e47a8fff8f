import fc from 'fast-check'
import t from 'tap'
import { once } from '../../lib/pipeline/sources.ts'
import { flatMap, map, functionsOf, transform, type Stage } from '../../lib/pipeline/stage.ts'
import { fuse } from '../../lib/pipeline/chain.ts'
import { collectAll } from '../support/collect-young.ts'
import { rounds } from '../support/rounds.ts'
import type { StageFunctions } from '../../lib/pipeline/fused-stages.ts'

/** The reference: each kind of stage as a plain generator function. */
function plainly (stage: Stage<number>): Stage<number> {
  const functions = functionsOf(stage)
  if (functions === undefined) return stage
  const { steps, open, createTransformers } = functions
  const stages: Array<Stage<unknown>> = [
    ...steps.map(stepping),
    ...(open === undefined ? [] : [opening(open)]),
    ...createTransformers.map(transforming)
  ]
  return source =>
    stages.reduce<AsyncIterable<unknown>>((before, next) => next(before), source) as AsyncIterable<number>
}

function stepping (step: StageFunctions['steps'][number]): Stage<unknown> {
  return async function * (source) {
    for await (const value of source) yield await step(value)
  }
}

function opening (open: NonNullable<StageFunctions['open']>): Stage<unknown> {
  return async function * (source) {
    for await (const value of source) yield * open(value)
  }
}

function transforming (begin: StageFunctions['createTransformers'][number]): Stage<unknown> {
  return async function * (source) {
    const transformer = begin()
    let value: unknown
    try {
      for await (const given of source) {
        const out = await transformer.push(given)
        if (out !== undefined) yield out
      }
    } catch (error) {
      if (transformer.fail === undefined) throw error
      value = transformer.fail(error)
      if (value !== undefined) yield value
      if (transformer.last !== undefined) yield * transformer.last()
      return
    }
    value = transformer.end?.()
    if (value !== undefined) yield value
    if (transformer.last !== undefined) yield * transformer.last()
  }
}

/** Returns everything that comes out of a source, including a failure and that the source was closed. */
async function story (
  stages: ReadonlyArray<Stage<number>>,
  count: number,
  fails: boolean,
  taken: number
): Promise<string> {
  const said: unknown[] = []
  let closed = false
  async function * numbers (): AsyncGenerator<number> {
    try {
      for (let number = 1; number <= count; number++) yield number
      if (fails) throw new Error('source')
    } finally {
      closed = true
    }
  }
  try {
    for await (const value of stages.reduce<AsyncIterable<number>>(
      (source, stage) => stage(source),
      numbers()
    )) {
      if (said.push(value) === taken) break
    }
  } catch (error) {
    said.push(String(error))
  }
  return JSON.stringify([said, closed])
}

async function * listed (values: readonly number[], fails: boolean): AsyncGenerator<number> {
  yield * values
  if (fails) throw new Error('inner')
}

const failing = (at: number) => (value: number): number => {
  if (value === at) throw new Error(`at ${at}`)
  return value
}

const someStage = fc.oneof(
  fc.constantFrom<Stage<number>>(
    map((value: number) => value + 1),
    map(async (value: number) => await Promise.resolve(value * 2)),
    flatMap((value: number) => once(value + 10)),
    flatMap((value: number) => map((inner: number) => inner + 1)(once(value))),
    flatMap(() => {
      throw new Error('open')
    }),
    transform(() => ({ push: (value: number) => (value % 3 === 0 ? undefined : value) })),
    transform(() => ({ push: (value: number) => value, end: () => 7, fail: () => 8 })),
    transform(() => ({ push: (value: number) => value, last: () => listed([5, 6], false) })),
    transform(() => ({ push: async (value: number) => (value % 2 === 0 ? undefined : value) })),
    transform(() => ({
      push: (value: number) => (value === 2 ? Promise.reject(new Error('later')) : value + 20),
      fail: () => 9
    })),
    transform(() => ({
      push: (value: number) => value,
      end: () => 4,
      fail: () => 3,
      last: () => listed([5], true)
    })),
    transform(() => ({
      push: (value: number) => value,
      end: () => {
        throw new Error('end')
      }
    })),
    transform(() => ({ push: (value: number) => value, fail: () => undefined })),
    transform(() => ({
      push: (value: number) => value,
      fail: () => {
        throw new Error('another')
      }
    })),
    source => source,
    async function* (source) {
      for await (const value of source) {
        yield value
        yield value
      }
    }
  ),
  fc.nat(20).map(at => map(failing(at))),
  fc.nat(20).map(at => transform(() => ({ push: failing(at), fail: error => String(error).length }))),
  fc.nat(20).map(at => transform(() => ({ push: failing(at) }))),
  fc.nat(20).map(at => map(async (value: number) => await Promise.resolve(failing(at)(value)))),
  fc
    .tuple(fc.array(fc.nat(20), { maxLength: 4 }), fc.boolean())
    .map(([values, fails]) => flatMap(() => listed(values, fails)))
)

t.test(
  'stages give the same values one by one, fused, and as one generator per function',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(someStage, { maxLength: 7 }),
        fc.nat(5),
        fc.boolean(),
        fc.nat(12),
        async (stages, count, fails, taken) => {
          const expected = await story(stages.map(plainly), count, fails, taken)
          const [single, fused] = [
            await story(stages, count, fails, taken),
            await story(fuse(stages) as Array<Stage<number>>, count, fails, taken)
          ]
          if (single !== expected || fused !== expected) {
            throw new Error(`${expected}, one by one ${single}, fused ${fused}`)
          }
        }
      ),
      { numRuns: rounds(2000) }
    )
  }
)

/** A source that never gives a value, and records that it was closed. */
function silent (said: string[]): AsyncIterableIterator<number> {
  return {
    next: async () => await new Promise(() => undefined),
    return: async () => {
      said.push('left')
      return await Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator] () { return this }
  }
}

t.test('return() reaches the source at once, even during a pending read', async t => {
  const said: string[] = []
  const same = transform(() => ({ push: (value: number) => value }))
  for (const stages of [[same], [flatMap(() => silent(said)), same], [map((value: number) => value)]]) {
    const values = fuse(stages).reduce<AsyncIterable<unknown>>(
      (source, stage) => stage(source as AsyncIterable<never>), stages.length === 2 ? once(1) : silent(said)
    )
    const iterator = values[Symbol.asyncIterator]()
    void iterator.next()
    await new Promise(resolve => { setImmediate(resolve) })
    t.same(await iterator.return?.(), { done: true, value: undefined })
    t.same(said.splice(0), ['left'])
    t.same(await iterator.next(), { done: true, value: undefined })
  }
})

t.test('after return() during a pending step no source is opened', async t => {
  const said: string[] = []
  let go = (): void => undefined
  const waited = new Promise<void>(resolve => {
    go = resolve
  })
  const stages = fuse([
    map(async (value: number) => {
      await waited
      return value
    }),
    flatMap((value: number) => {
      said.push('opened')
      return once(value)
    })
  ])
  const [first] = stages
  const iterator = first?.(once(1) as AsyncIterable<never>)[Symbol.asyncIterator]()
  const next = iterator?.next()
  await iterator?.return?.()
  go()
  t.same(await next, { done: true, value: undefined })
  t.same([stages.length, said], [1, []])
})

t.test('a long run of dropped values is read in bounded memory', async t => {
  const none = transform(() => ({ push: () => undefined, end: () => 'end' }))
  let count = 0
  /** The heap after a collection, at the beginning and near the end. */
  const heapBytes: number[] = []
  const source: AsyncIterableIterator<number> = {
    next: async () => {
      count++
      if (count === 20_000 || count === 199_000) {
        collectAll()
        heapBytes.push(process.memoryUsage().heapUsed)
      }
      return count < 200_000 ? { done: false, value: count } : { done: true, value: undefined }
    },
    [Symbol.asyncIterator] () { return this }
  }
  t.same(await none(source)[Symbol.asyncIterator]().next(), { done: false, value: 'end' })
  const [first = NaN, last = NaN] = heapBytes
  t.ok(last - first < 5e6, `${last - first} bytes more`)
})
