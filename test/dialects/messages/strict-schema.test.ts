import t from 'tap'
import { isStrict } from '../../../lib/dialects/messages/strict-schema.ts'

const strict = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false
}

t.test(
  'a strict schema requires all properties and allows no others, in every nested object',
  async t => {
    t.ok(isStrict(strict))
    t.ok(isStrict({ type: 'array', items: { anyOf: [strict, { type: 'null' }] } }))
    t.ok(isStrict({ ...strict, $defs: { b: strict } }))
    for (const loose of [
      { ...strict, additionalProperties: undefined },
      { ...strict, required: [] },
      { properties: { a: {} } },
      { type: 'array', items: { type: 'object', properties: {} } },
      { ...strict, $defs: { b: { type: 'object' } } },
      { anyOf: [strict, { type: 'object' }] }
    ]) {
      t.notOk(isStrict(loose), JSON.stringify(loose))
    }
  }
)

t.test('a schema deeper than any provider accepts is left unchanged', async t => {
  let schema: object = strict
  for (let depth = 0; depth < 30; depth++) schema = { type: 'array', items: schema }
  t.notOk(isStrict(schema))
})
