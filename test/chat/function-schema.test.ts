import fc from 'fast-check'
import t from 'tap'
import { fitFunction } from '../../lib/chat/function-schema.ts'
import { holds } from '../support/property.ts'

const string = { type: 'string' }
const fitted = (parameters: Record<string, unknown>, more: object = {}): ReturnType<typeof fitFunction> =>
  fitFunction({ name: 'f', parameters, ...more })

t.test('a schema that every provider accepts is returned unchanged', async t => {
  for (const definition of [
    { name: 'f' },
    { name: 'f', parameters: null },
    {
      name: 'f',
      parameters: {
        type: 'object',
        properties: { a: { type: 'array', items: { anyOf: [string] } } },
        required: ['a'],
        $defs: { x: string }
      },
      strict: true
    }
  ]) {
    t.equal(fitFunction(definition), definition)
  }
})

t.test('missing parts are added at the root', async t => {
  for (const parameters of [
    {},
    { type: 'object' },
    { properties: {} },
    { type: 'object', properties: null },
    { type: ['object', 'null'] }
  ]) {
    t.strictSame(
      fitted(parameters).parameters,
      { type: 'object', properties: {} },
      JSON.stringify(parameters)
    )
  }
  t.strictSame(
    fitted({ properties: { a: string }, required: ['a'], additionalProperties: false }).parameters,
    { additionalProperties: false, type: 'object', properties: { a: string }, required: ['a'] }
  )
})

t.test('arrays get a schema for their items, at any depth', async t => {
  const given = {
    type: 'object',
    properties: {
      a: { type: 'array' },
      b: { type: ['array', 'null'], description: 'x' },
      c: { anyOf: [{ type: 'array' }, { items: { type: 'array' } }] },
      d: { type: 'array', prefixItems: [string] }
    }
  }
  t.strictSame(fitted(given).parameters, {
    type: 'object',
    properties: {
      a: { type: 'array', items: {} },
      b: { type: ['array', 'null'], description: 'x', items: {} },
      c: { anyOf: [{ type: 'array', items: {} }, { items: { type: 'array', items: {} } }] },
      d: { type: 'array', prefixItems: [string] }
    }
  })
})

t.test('a union at the root becomes one object, with the conditions in the description', async t => {
  const a = { type: 'object', properties: { a: string, both: string }, required: ['a', 'both'] }
  const b = {
    type: 'object',
    properties: { b: { type: 'number' }, both: { type: 'number' } },
    required: ['b', 'both']
  }
  for (const keyword of ['anyOf', 'oneOf']) {
    t.strictSame(fitted({ [keyword]: [a, b] }, { description: 'Does it.', strict: true }), {
      name: 'f',
      description: `Does it.\n\nThe arguments must match this JSON Schema: ${JSON.stringify({ [keyword]: [a, b] })}`,
      parameters: {
        type: 'object',
        properties: { a: string, both: { anyOf: [string, { type: 'number' }] }, b: { type: 'number' } },
        required: ['both']
      }
    })
  }
  t.match(
    fitted({
      type: 'object',
      properties: { a: string, b: string },
      anyOf: [{ required: ['a'] }, { required: ['b'] }]
    }),
    {
      parameters: { properties: { a: string, b: string } },
      description: /"anyOf":\[\{"required":\["a"\]\}/
    }
  )
  t.strictSame(fitted({ type: 'object', allOf: [{ properties: { c: string } }, { required: ['c'] }] }), {
    name: 'f',
    parameters: { type: 'object', properties: { c: string }, required: ['c'] }
  })
  t.strictSame(
    fitted({
      $ref: '#/$defs/x',
      $defs: { x: { type: 'object', properties: { a: string }, required: ['a'] } }
    }).parameters,
    {
      $defs: { x: { type: 'object', properties: { a: string }, required: ['a'] } },
      type: 'object',
      properties: { a: string },
      required: ['a']
    }
  )
  t.match(fitted({ type: 'string' }), {
    parameters: { type: 'object', properties: {} },
    description: /"type":"string"/
  })
  t.strictSame(
    fitted({ $ref: '#/$defs/x', $defs: { x: { anyOf: [{ $ref: '#/$defs/x' }] } } }).parameters,
    { $defs: { x: { anyOf: [{ $ref: '#/$defs/x' }] } }, type: 'object', properties: {} },
    'a recursive union'
  )
})

t.test('conditions too long to be repeated are mentioned', async t => {
  const anyOf = Array.from({ length: 40 }, (_, index) => ({ required: [`${'name'.repeat(20)}${index}`] }))
  const { description } = fitFunction({
    name: 'f',
    description: 'Does it.',
    parameters: { type: 'object', properties: {}, anyOf }
  })
  t.equal(description, 'Does it.\n\nNot every combination of these arguments is valid.')
})

t.test('for any schema, the root is an object with properties and without a union', async t => {
  const schema = fc.letrec(tie => ({
    schema: fc.dictionary(
      fc.constantFrom(
        'type',
        'properties',
        'required',
        'anyOf',
        'oneOf',
        'allOf',
        'items',
        '$ref',
        '$defs',
        'enum',
        'not'
      ),
      fc.oneof(
        { maxDepth: 3, depthIdentifier: 'schema' },
        fc.constantFrom('object', 'array', '#/$defs/a', null, ['object', 'null']),
        tie('schema'),
        fc.array(tie('schema'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 })
      ),
      { maxKeys: 4, depthIdentifier: 'schema' }
    )
  })).schema
  holds(
    t,
    fc.property(schema, parameters => {
      const result: unknown = fitted(parameters).parameters
      const { type, properties, anyOf, oneOf, allOf, $ref } = result as Record<string, unknown>
      return (
        type === 'object' &&
        typeof properties === 'object' &&
        properties !== null &&
        [anyOf, oneOf, allOf, $ref].every(keyword => keyword === undefined)
      )
    }),
    { numRuns: 500 }
  )
})

t.test('a property of a branch may be named like a member of Object.prototype', async t => {
  const names = ['constructor', 'toString', 'hasOwnProperty', '__proto__']
  const properties = Object.fromEntries(names.map(name => [name, string]))
  t.equal(
    JSON.stringify(fitted({ oneOf: [{ type: 'object', properties }] }).parameters),
    JSON.stringify({ type: 'object', properties })
  )
})
