import t from 'tap'
import { peek } from '../../lib/pipeline/sources.ts'
import { collect } from '../support/stages.ts'

/** Counts what is taken, and notes when it is returned. */
function counted (end: number): {
  readonly source: AsyncGenerator<number, void, undefined>
  readonly seen: { taken: number, returned: boolean }
} {
  const seen = { taken: 0, returned: false }
  async function * source (): AsyncGenerator<number, void, undefined> {
    try {
      for (let number = 0; number < end; number++) {
        seen.taken++
        yield number
      }
    } finally {
      seen.returned = true
    }
  }
  return { source: source(), seen }
}

t.test('the first value is known before the others are taken, and is one of all', async t => {
  const { source, seen } = counted(3)
  const { first, all } = await peek(source)
  t.same([first, seen.taken], [0, 1])
  t.same(await collect(all), [0, 1, 2])
})

t.test('leaving returns the source, before the first value is taken again or after', async t => {
  for (const wanted of [0, 1, 2]) {
    const { source, seen } = counted(9)
    const { all } = await peek(source)
    const iterator = all[Symbol.asyncIterator]()
    for (let count = 0; count < wanted; count++) await iterator.next()
    t.same(await iterator.return?.(), { done: true, value: undefined })
    t.equal(seen.returned, true)
  }
})

t.test('what fails before the first value fails here; what fails later fails where it is read', async t => {
  async function * failing (count: number): AsyncGenerator<number, void, undefined> {
    for (let number = 0; number < count; number++) yield number
    throw new Error('broken')
  }
  await t.rejects(async () => await peek(failing(0)), { message: 'broken' })
  const { all } = await peek(failing(1))
  await t.rejects(collect(all), { message: 'broken' })
})

t.test('a source without a value is a fault of ours', async t => {
  await t.rejects(async () => await peek(counted(0).source), { code: 'internal_error' })
})
