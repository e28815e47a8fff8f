import t from 'tap'
import { flatMap, map, transform } from '../../lib/pipeline/stage.ts'
import { collect } from '../support/stages.ts'

async function * numbers (count: number, ended?: () => void): AsyncGenerator<number> {
  try {
    for (let number = 1; number <= count; number++) yield number
  } finally {
    ended?.()
  }
}

t.test('map gives a value for each, whether its step is async or not', async t => {
  t.same(await collect(map((value: number) => value * 2)(numbers(3))), [2, 4, 6])
  t.same(await collect(map(async (value: number) => await Promise.resolve(value * 2))(numbers(3))), [2, 4, 6])
})

t.test('a step that throws closes the source', async t => {
  let ended = false
  const failing = map((value: number) => {
    if (value === 2) throw new Error('two')
    return value
  })
  await t.rejects(collect(failing(numbers(3, () => { ended = true }))), { message: 'two' })
  t.ok(ended)
})

t.test('flatMap joins the sources of its values in order, and return() closes both', async t => {
  const twice = flatMap(async function * (value: number) { yield value; yield value })
  t.same(await collect(twice(numbers(2))), [1, 1, 2, 2])
  const ended: string[] = []
  const inner = flatMap(() => numbers(5, () => ended.push('inner')))
  for await (const value of inner(numbers(5, () => ended.push('outer')))) {
    if (value === 2) break
  }
  t.same(ended, ['inner', 'outer'])
})

t.test('flatMap closes its source if an inner source fails or cannot be opened', async t => {
  const failures = [
    flatMap(async function * (value: number) { yield value; throw new Error('inner') }),
    flatMap((): AsyncIterable<number> => { throw new Error('inner') })
  ]
  for (const failing of failures) {
    let ended = false
    await t.rejects(collect(failing(numbers(3, () => { ended = true }))), { message: 'inner' })
    t.ok(ended)
  }
})

t.test('transform has state per run, may drop values, and may add a last one', async t => {
  const pairs = transform(() => {
    let kept: number | undefined
    return {
      push: (value: number) => {
        const pair = kept === undefined ? undefined : [kept, value]
        kept = kept === undefined ? value : undefined
        return pair
      },
      end: () => kept === undefined ? undefined : [kept]
    }
  })
  t.same(await collect(pairs(numbers(3))), [[1, 2], [3]])
  t.same(await collect(pairs(numbers(2))), [[1, 2]])
})

t.test('a transform may turn a failure of its source into a last value, or fail too', async t => {
  async function * broken (): AsyncGenerator<number> {
    yield 1
    throw new Error('cut')
  }
  const same = { push: (value: number | string) => value }
  t.same(
    await collect(
      transform<number, number | string>(() => ({ ...same, fail: error => String(error) }))(broken())
    ),
    [1, 'Error: cut']
  )
  t.same(
    await collect(transform<number, number | string>(() => ({ ...same, fail: () => undefined }))(broken())),
    [1]
  )
  await t.rejects(collect(transform<number, number | string>(() => same)(broken())), { message: 'cut' })
})

t.test('a push that throws closes the source, or the error becomes the last value', async t => {
  let ended = 0
  const failing = {
    push: (): string => {
      throw new Error('bad')
    }
  }
  await t.rejects(
    collect(
      transform(() => failing)(
        numbers(3, () => {
          ended++
        })
      )
    ),
    { message: 'bad' }
  )
  t.same(
    await collect(
      transform(() => ({ ...failing, fail: () => 'said' }))(
        numbers(3, () => {
          ended++
        })
      )
    ),
    ['said']
  )
  t.equal(ended, 2)
})
