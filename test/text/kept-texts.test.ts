import t from 'tap'
import { KeptTexts } from '../../lib/text/kept-texts.ts'

/** Returns texts, and how often one was printed. */
function counted () {
  let printed = 0
  const texts = new KeptTexts<readonly [string, number | null | undefined]>(values => {
    printed++
    return JSON.stringify(values)
  })
  return { texts, printed: () => printed }
}

t.test('the same values are printed once', async t => {
  const { texts, printed } = counted()
  for (let time = 0; time < 3; time++) t.equal(texts.of(['a', 1]), '["a",1]')
  t.equal(printed(), 1)
})

t.test('each value counts, and none for another that prints alike', async t => {
  const { texts, printed } = counted()
  t.equal(texts.of(['a', 1]), '["a",1]')
  t.equal(texts.of(['b', 1]), '["b",1]')
  t.equal(texts.of(['a', 2]), '["a",2]')
  t.equal(texts.of(['a', null]), '["a",null]')
  t.equal(texts.of(['a', undefined]), '["a",null]')
  t.equal(printed(), 5)
})

t.test('the last eight combinations are kept', async t => {
  const { texts, printed } = counted()
  const all = Array.from({ length: 8 }, (_, index) => ['a', index] as const)
  for (const values of [...all, ...all]) texts.of(values)
  t.equal(printed(), 8)
  texts.of(['b', 0]) // in place of the oldest
  texts.of(['a', 7])
  t.equal(printed(), 9)
  texts.of(['a', 0])
  t.equal(printed(), 10)
})

t.test('long texts are not kept', async t => {
  const { texts, printed } = counted()
  const long = 'a'.repeat(3000)
  t.equal(texts.of([long, 1]), texts.of([long, 1]))
  t.equal(printed(), 2)
})
