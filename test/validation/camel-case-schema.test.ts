import t from 'tap'
import { Type } from 'typebox'
import { Secret } from '../../lib/core/secret.ts'
import { camelCased } from '../../lib/validation/camel-case-schema.ts'
import { secretReference } from '../../schemas/config/secret.ts'

const Names = Type.Record(Type.String({ pattern: '^.*$' }), Type.Object({ in_cents: Type.Number() }))

t.test('schema names are converted at every depth, names chosen in the configuration are kept', async t => {
  const schema = Type.Object({
    first_name: Type.Array(Type.Object({ given_by: Type.String() })),
    by_model: Names
  })
  const value = { first_name: [{ given_by: 'some_one' }], by_model: { my_own_model: { in_cents: 1 } } }
  t.strictSame(camelCased(schema, value), {
    firstName: [{ givenBy: 'some_one' }], byModel: { my_own_model: { inCents: 1 } }
  })
})

t.test('a reference to a secret becomes the secret, and is refused elsewhere', async t => {
  const schema = Type.Object({ api_key: Type.String({ pattern: secretReference }), note: Type.String() })
  const value = { api_key: 'env:KEY', note: 'env:KEY' }
  const read = camelCased(schema, value, reference => new Secret(`text of ${reference}`))
  t.equal((read as { apiKey: unknown }).apiKey instanceof Secret, true)
  t.equal(read.note, 'env:KEY', 'a text that looks like one is a text')
  t.throws(() => camelCased(schema, value), { message: 'a secret where none is expected' })
})
