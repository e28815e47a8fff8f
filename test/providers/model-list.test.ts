import t from 'tap'
import { listIn, textFact } from '../../lib/providers/model-list.ts'

t.test('the objects of a list are its models', async t => {
  t.same(listIn({ data: [{ id: 'a' }, null, 'b', [], { id: 'c' }] }, 'data'), [{ id: 'a' }, { id: 'c' }])
  for (const body of [null, [], {}, { data: 'x' }, { models: [] }]) {
    t.throws(() => listIn(body, 'data'), { message: 'The answer has no list "data".' })
  }
})

t.test('only text counts as a fact', async t => {
  t.same(textFact('GPT', 'displayName'), { displayName: 'GPT' })
  for (const value of ['', 7, null, undefined]) t.same(textFact(value, 'description'), {})
})
