import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parseText } from '../../lib/json/parse-text.ts'
import { countTurns } from '../support/turns.ts'

t.test('text is parsed, a large one over several turns', async t => {
  t.same(await parseText('{"a":[1,"ü"]}'), { a: [1, 'ü'] })
  const value = Array.from({ length: 100_000 }, (_, number) => ({ number, text: 'é' }))
  const turns = countTurns(t)
  t.ok(isDeepStrictEqual(await parseText(JSON.stringify(value)), value))
  t.ok(turns() > 2)
})

t.test('memory for the number of values is reserved before they are created', async t => {
  const taken: number[] = []
  const take = (bytes: number): void => { taken.push(bytes) }
  await parseText('[1]', take)
  await parseText(JSON.stringify(Array.from({ length: 1_000_000 }, () => 1)), take)
  const [few = 0, many = 0] = taken
  t.ok(many > 100_000 * few)
  await t.rejects(
    parseText('[', () => {
      throw new Error('no memory is left')
    }),
    /no memory is left/,
    'a refusal comes before the text is read'
  )
})
