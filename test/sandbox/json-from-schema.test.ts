import t from 'tap'
import fc from 'fast-check'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { user, send, complete, message } from '../support/sandbox.ts'
import { rounds } from '../support/rounds.ts'

const scalar = fc.oneof(
  fc.record({ type: fc.constant('boolean') }),
  fc.record({ type: fc.constant('null') }),
  fc.record({ enum: fc.uniqueArray(fc.oneof(fc.string(), fc.integer()), { minLength: 1 }) }),
  fc.record({
    const: fc.oneof(
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constant({ a: [null] })
    )
  }),
  fc
    .tuple(fc.nat(40), fc.nat(40))
    .map(([a, b]) => ({ type: 'string', minLength: Math.min(a, b), maxLength: Math.max(a, b) })),
  fc
    .constantFrom('^[A-Z]{3}-\\d{4}$', '^(?:a|b)+c?$', '^[^a-z]x*$', '^#[0-9a-fA-F]{6}$', '\\w+@\\w+\\.com')
    .chain(pattern =>
      fc
        .nat(8)
        .map(minLength =>
          pattern.includes('+') ? { type: 'string', pattern, minLength } : { type: 'string', pattern }
        )
    ),
  fc
    .tuple(
      fc.integer({ min: -99, max: 99 }),
      fc.integer({ min: 8, max: 99 }),
      fc.integer({ min: 1, max: 4 })
    )
    .map(([minimum, span, multipleOf]) => ({
      type: 'integer',
      minimum,
      maximum: minimum + span,
      multipleOf
    })),
  fc
    .tuple(
      fc.integer({ min: -99, max: 99 }),
      fc.integer({ min: 9, max: 99 }),
      fc.integer({ min: 1, max: 4 })
    )
    .map(([low, span, multipleOf]) => ({
      type: 'integer',
      exclusiveMinimum: low,
      exclusiveMaximum: low + span,
      multipleOf
    })),
  fc
    .tuple(fc.double({ min: -9, max: 9, noNaN: true }), fc.integer({ min: 1, max: 9 }))
    .map(([low, span]) => ({
      type: ['number', 'null'],
      exclusiveMinimum: low,
      exclusiveMaximum: low + span
    }))
)
// The validator ignores a property of this name, and then reports it as unexpected.
const propertyName = fc.string().filter(name => name !== '__proto__')
const { schema: anySchema } = fc.letrec<{ schema: object }>(tie => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    scalar,
    fc
      .tuple(tie('schema'), fc.nat(3), fc.nat(3))
      .map(([items, a, b]) => ({ type: 'array', items, minItems: Math.min(a, b), maxItems: a + b })),
    fc
      .tuple(fc.dictionary(propertyName, tie('schema'), { maxKeys: 4 }), fc.boolean())
      .map(([properties, strict]) => ({
        type: 'object',
        properties,
        additionalProperties: false,
        required: strict ? Object.keys(properties) : []
      })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map(anyOf => ({ anyOf }))
  )
}))

t.test('a JSON answer is valid JSON', async t => {
  const { content } = await message({ messages: user('Hi'), response_format: { type: 'json_object' } })
  t.match(JSON.parse(content ?? ''), { simulator: 'sandbox', answer: /You said: "Hi"/ })
})

t.test('a value generated from a schema validates against it, in every choice', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  await fc.assert(fc.asyncProperty(anySchema, async schema => {
    const { choices } = await complete({
      messages: user('x'), n: 2, response_format: { type: 'json_schema', json_schema: { name: 'x', schema } }
    })
    for (const { message } of choices) {
      const value: unknown = JSON.parse(message.content ?? '')
      if (!ajv.validate(schema, value)) throw new Error(`${JSON.stringify(value)}: ${ajv.errorsText()}`)
    }
  }), { numRuns: rounds(300) })
})

t.test('schemas with references, unions and extra requirements are satisfied', async t => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const node = {
    type: 'object',
    properties: {
      value: { type: 'integer' },
      next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] }
    },
    required: ['value', 'next'],
    additionalProperties: false
  }
  const schemas: Record<string, object> = {
    'a recursive list': { $ref: '#/$defs/node', $defs: { node } },
    'a tree': {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#' } } },
      required: ['children']
    },
    'all of them': {
      allOf: [
        { properties: { a: { minimum: 3 } }, required: ['a'] },
        { properties: { b: { type: 'null' } }, required: ['b'] }
      ]
    },
    'required but not described': { type: 'object', required: ['x'], minProperties: 3 },
    'different items': { type: 'array', items: { type: 'string' }, minItems: 3, uniqueItems: true },
    'a tuple': {
      type: 'array',
      prefixItems: [{ type: 'integer' }, { type: 'boolean' }],
      items: false,
      minItems: 2
    },
    'a key of the prototype': {
      type: 'object',
      properties: { toString: { type: 'string' } },
      required: ['toString', 'valueOf']
    }
  }
  for (const [name, schema] of Object.entries(schemas)) {
    const { content } = await message({
      messages: user('x'),
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } }
    })
    t.ok(ajv.validate(schema, JSON.parse(content ?? '')), `${name}: ${content}`)
  }
  for (const schema of [
    { $ref: '#' },
    { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
    { type: 'array', minItems: 1e9 },
    { type: 'string', minLength: 1e9 }
  ]) {
    const { status } = await send({
      messages: user('x'),
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } }
    })
    t.equal(status, 400, `refused: ${JSON.stringify(schema)}`)
  }
})
