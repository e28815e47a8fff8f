import t from 'tap'
import { peek } from '../../lib/pipeline/sources.ts'
import { collect } from '../support/stages.ts'

/** Counts the values read, and records when it is closed. */
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

t.test('the first value is known before the others are read, and is still part of the source', async t => {
  const { source, seen } = counted(3)
  const { first, all } = await peek(source)
  t.same([first, seen.taken], [0, 1])
  t.same(await collect(all), [0, 1, 2])
})

t.test('return() closes the source, before or after the first value is read again', async t => {
  for (const wanted of [0, 1, 2]) {
    const { source, seen } = counted(9)
    const { all } = await peek(source)
    const iterator = all[Symbol.asyncIterator]()
    for (let count = 0; count < wanted; count++) await iterator.next()
    t.same(await iterator.return?.(), { done: true, value: undefined })
    t.equal(seen.returned, true)
  }
})

t.test('a failure before the first value rejects at once; a later one rejects at its read', async t => {
  async function * failing (count: number): AsyncGenerator<number, void, undefined> {
    for (let number = 0; number < count; number++) yield number
    throw new Error('broken')
  }
  await t.rejects(async () => await peek(failing(0)), { message: 'broken' })
  const { all } = await peek(failing(1))
  await t.rejects(collect(all), { message: 'broken' })
})

t.test('a source without a value is an internal error', async t => {
  await t.rejects(async () => await peek(counted(0).source), { code: 'internal_error' })
})
