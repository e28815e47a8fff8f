import assert from 'node:assert/strict'
import { Ajv2019 } from 'ajv/dist/2019.js'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Type, type TSchema } from 'typebox'
import { compileCheck, type Check } from '../../lib/validation/compile-check.ts'
import { explain } from '../../lib/validation/explain.ts'
import { MapOf, Nullable } from '../../schemas/nullable.ts'
import { endpointDocs } from '../../pipelines/index.ts'
import { brokenValuesOf } from '../support/schema-values.ts'
import { rounds } from '../support/rounds.ts'

const bodies = endpointDocs.flatMap(({ method, path, request }) =>
  request === undefined ? [] : [{ name: `${method} ${path}`, schema: request.schema }]
)

t.test('every endpoint with a body is in the table', async t => {
  t.ok(bodies.length >= 8, bodies.map(({ name }) => name).join())
})

for (const { name, schema } of bodies) {
  t.test(`${name}: accepts what Ajv accepts, and explains what it refuses`, async t =>
    acceptsAsAjv(t, schema, compileCheck(schema))
  )
}

t.test('a value of several types has the limits of its own type', async t => {
  const check = compileCheck(Type.Unsafe({ type: ['string', 'object'], maxProperties: 1 }))
  t.ok(check({ a: 1 }))
  t.ok(check('a'))
  t.notOk(check({ a: 1, b: 2 }))
})

function acceptsAsAjv (t: Test, schema: TSchema, matches: Check): void {
  const accepts = new Ajv2019({ strict: true, strictTypes: false, validateSchema: false }).compile(schema)
  const values = rounds(1000)
  let right = 0
  fc.assert(fc.property(brokenValuesOf(schema), value => {
    const body = JSON.parse(JSON.stringify(value)) as unknown // as parsed from a body
    const expected = accepts(body)
    right += Number(expected)
    assert.equal(matches(body), expected)
    assert.equal(explain(schema, body).length === 0, expected)
  }), { numRuns: values })
  t.ok(right > values / 20 && right < values * 0.95, `${right} of ${values} bodies are right`)
}

t.test('a schema with rules beyond its fields is checked as a whole', async t => {
  const matches = compileCheck(Type.Object({ a: Type.Optional(Type.String()) }, { minProperties: 2 }))
  t.equal(matches({ a: 'b' }), false)
  t.equal(matches({ a: 'b', c: 1 }), true)
})

t.test('a key is compared by name, even if it is a built-in property name', async t => {
  const matches = compileCheck(Type.Object({ a: Type.String() }))
  t.equal(matches({ a: 'b', constructor: 1, toString: 2 }), true)
  t.equal(matches(JSON.parse('{"a":"b","__proto__":{"a":1}}')), true)
  t.equal(matches(JSON.parse('{"__proto__":{"a":"b"}}')), false)
})

t.test('the items of a list or an object that is too long are not read', async t => {
  let reads = 0
  const item = { enumerable: true, get: () => reads++ }
  const list = Object.defineProperties([], { 0: item, 1: item, 2: item })
  const fields = Object.defineProperties({}, { a: item, b: item, c: item })
  const schema = Type.Object({
    list: Nullable(Type.Union([Type.String(), Type.Array(Type.Number(), { maxItems: 2 })])),
    fields: Nullable(MapOf(Type.Number(), { maxProperties: 2 }))
  })
  for (const [body, what] of [[{ list }, 'List'], [{ fields }, 'Dictionary']] as const) {
    t.equal(compileCheck(schema)(body), false)
    t.match(explain(schema, body), [{ msg: `${what} should have at most 2 items after validation, not 3` }])
  }
  t.equal(reads, 0)
})
