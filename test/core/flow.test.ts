import fc from 'fast-check'
import t from 'tap'
import { chain } from '../../lib/pipeline/chain.ts'
import { flatMap, map, once, transform, type Stage } from '../../lib/pipeline/stage.ts'
import { Flow, pulling } from '../../lib/core/flow.ts'
import { collected, peek } from '../../lib/async/peek.ts'

/** The same value from a source that stages have to wrap. */
async function * plainly (value: number): AsyncGenerator<number> {
  yield value
}

/** Says all that comes out of a source, a failure included. */
async function story (source: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = []
  try {
    for await (const value of source) values.push(value)
  } catch (error) {
    values.push(String(error))
  }
  return values
}

async function * numbers (count: number, fails: boolean): AsyncGenerator<number> {
  for (let number = 1; number <= count; number++) yield number
  if (fails) throw new Error('source')
}

/** A source that has some of its values at once. */
function ready (values: readonly number[]): AsyncIterable<number> {
  let at = 0
  const next = (): IteratorResult<number, undefined> => {
    const value = values[at++]
    return value === undefined ? { done: true, value: undefined } : { done: false, value }
  }
  const iterator = { next: async () => next(), pull: () => at % 2 === 0 ? next() : Promise.resolve(next()) }
  return { [Symbol.asyncIterator]: () => iterator }
}

const failing = (at: number) => (value: number): number => {
  if (value === at) throw new Error(`step ${at}`)
  return value
}

const someStage = fc.oneof(
  fc.constantFrom<Stage<number>>(
    map((value: number) => value + 1),
    map(async (value: number) => await Promise.resolve(value * 2)),
    flatMap((value: number) => once(value + 10)),
    flatMap((value: number) => ready([value, 1, 2, 3])),
    flatMap((value: number) => chain(map((inner: number) => inner + 1), transform(() => ({ push: (inner: number) => inner, end: () => 5 })))(once(value))),
    transform(() => ({ push: (value: number) => value % 3 === 0 ? undefined : value })),
    transform(() => ({ push: (value: number) => value, end: () => 7, fail: () => 8 })),
    transform(() => ({ push: (value: number) => value, end: () => { throw new Error('end') } })),
    transform(() => ({ push: (value: number) => value, fail: () => undefined })),
    transform(() => ({ push: (value: number) => value, fail: () => { throw new Error('another') } })),
    source => source,
    async function * (source) { for await (const value of source) { yield value; yield value } }
  ),
  fc.nat(20).map(at => map(failing(at))),
  fc.nat(20).map(at => transform(() => ({ push: failing(at), fail: error => String(error).length }))),
  fc.nat(20).map(at => transform(() => ({ push: failing(at) }))),
  fc.nat(20).map(at => map(async (value: number) => await Promise.resolve(failing(at)(value)))),
  fc.tuple(fc.nat(4), fc.boolean()).map(([count, fails]) => flatMap(() => numbers(count, fails)))
)

t.test('what comes out of stages in a flow is what comes out of them one by one', async () => {
  await fc.assert(fc.asyncProperty(fc.nat(12), fc.array(someStage, { maxLength: 7 }), async (value, stages) => {
    const through = (source: AsyncIterable<number>): AsyncIterable<number> => stages.reduce((from, stage) => stage(from), source)
    const [wrapped, flowing] = [await story(through(plainly(value))), await story(through(once(value)))]
    return JSON.stringify(wrapped) === JSON.stringify(flowing)
  }), { numRuns: 2000 })
})

t.test('stages that know their functions make one flow of a value', t => {
  const stages = chain(chain(map((value: number) => value + 1), flatMap((value: number) => numbers(value, false))), transform(() => ({ push: String })))
  t.ok(stages(once(1)) instanceof Flow)
  t.end()
})

t.test('what is there is given without a promise, and what is not with one', async t => {
  const given = pulling(map((value: number) => value + 1)(once(1))).pull()
  t.same(given, { done: false, value: 2 })
  const waited = pulling(map(async (value: number) => value + 1)(once(1))).pull()
  t.ok(waited instanceof Promise)
  t.same(await waited, { done: false, value: 2 })
})

t.test('a flow whose last value came from its last transformer is over with it', async t => {
  const transformer = { push: (value: number) => value, end: () => 2 }
  const flow = new Flow<number>(1).through(transformer)
  const read = (): unknown[] => [flow?.pull(), flow?.hasEnded]
  t.same([read(), read(), read()], [[{ done: false, value: 1 }, false], [{ done: false, value: 2 }, true], [{ done: true, value: undefined }, true]])
  const two = new Flow<number>(1).through(transformer)?.through({ push: (value: number) => value, end: () => 3 })
  t.same([1, 2, 3].map(() => [two?.pull(), two?.hasEnded]), [[{ done: false, value: 1 }, false], [{ done: false, value: 2 }, false], [{ done: false, value: 3 }, true]])
  two?.unread(3)
  t.equal(two?.hasEnded, false, 'what was put back follows')
})

t.test('a flow has nothing left to be read once its source says so, or has ended', async t => {
  const iterator = pulling(numbers(2, false))
  const source = { ...iterator, isRead: false, [Symbol.asyncIterator] () { return this } }
  const flow = pulling(flatMap(() => source)(once(0)))
  t.equal(flow.isRead, false)
  await flow.next()
  t.equal(flow.isRead, false)
  source.isRead = true
  t.equal(flow.isRead, true)
  while ((await flow.next()).done !== true) { /* to the end */ }
  source.isRead = false
  t.equal(flow.isRead, true, 'it has ended')
})

t.test('leaving a flow returns its source, and nothing starts that was never read', async t => {
  const said: string[] = []
  const open = flatMap(async function * (value: number) {
    said.push('opened')
    try { yield value; yield value } finally { said.push('returned') }
  })
  await open(once(1))[Symbol.asyncIterator]().return?.()
  t.same(said, [])
  for await (const _ of open(once(1))) break
  t.same(said, ['opened', 'returned'])
})

t.test('a value that was looked at comes again, and passes only what was added since', async t => {
  let pushed = 0
  const counted = transform(() => ({ push: (value: number) => { pushed++; return value } }))
  const { first, all } = await peek(counted(flatMap(() => numbers(3, false))(once(0))))
  t.equal(first, 1)
  t.same(await collected(map(String)(transform(() => ({ push: (value: number) => value * 10, end: () => 5 }))(all))), ['10', '20', '30', '5'])
  t.equal(pushed, 3)
})
