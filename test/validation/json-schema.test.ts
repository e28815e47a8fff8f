import t from 'tap'
import { branchesOf, fits, literals, typeOf } from '../../lib/validation/json-schema.ts'

t.test('a const or an enum has literals, even a const of null', async t => {
  t.same(literals({ const: null }), [null])
  t.same(literals({ enum: ['a', 'b'] }), ['a', 'b'])
  t.equal(literals({ type: 'string' }), undefined)
  t.equal(literals(undefined), undefined)
})

t.test('nested unions have one list of branches', async t => {
  const [a, b, c] = [{ type: 'string' }, { type: 'null' }, { type: 'array' }]
  t.same(branchesOf({ anyOf: [a, { anyOf: [b, { anyOf: [c] }] }] }), [a, b, c])
  t.same(branchesOf(a), [a])
})

t.test('JSON types distinguish null, arrays and objects', async t => {
  t.same([null, [], {}, 'a', 1, 1.5, true].map(typeOf), [
    'null',
    'array',
    'object',
    'string',
    'number',
    'number',
    'boolean'
  ])
})

t.test(
  'a value fits a schema of its type; every number fits an integer, which is checked later',
  async t => {
    t.ok(fits({ type: 'integer' }, 1.5))
    t.ok(fits({}, undefined), 'a schema without a type takes anything')
    t.ok(fits({ enum: ['a'] }, 'b'), 'of the type of its literals')
    t.notOk(fits({ enum: ['a'] }, 1))
    t.notOk(fits({ type: 'object' }, []))
    t.notOk(fits({ type: 'object' }, null))
  }
)
