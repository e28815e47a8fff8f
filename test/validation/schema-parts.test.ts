import t from 'tap'
import { valueSchema, isSecretSchema, propertySchemas } from '../../lib/validation/schema-parts.ts'
import { secretReference } from '../../schemas/config/secret.ts'

t.test('the pattern of references marks a secret', async t => {
  t.equal(isSecretSchema({ type: 'string', pattern: secretReference }), true)
  t.same([{ type: 'string' }, { pattern: '^a' }, undefined, null, 'text'].map(isSecretSchema), [
    false,
    false,
    false,
    false,
    false
  ])
})

t.test('an object has schemas by name; a map or an array has one for all its entries', async t => {
  const entry = { type: 'number' }
  t.same(propertySchemas({ properties: { a: entry } }), { a: entry })
  t.equal(propertySchemas({ patternProperties: { '^.*$': entry } }), undefined)
  t.same(valueSchema({ patternProperties: { '^.*$': entry } }), entry)
  t.same(valueSchema({ items: entry }), entry)
  t.equal(valueSchema({ properties: { a: entry } }), undefined)
  t.same([propertySchemas(undefined), valueSchema(undefined)], [undefined, undefined])
})
