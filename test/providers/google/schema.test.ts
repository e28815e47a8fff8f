import t from 'tap'
import { answerSchema, functionSchema } from '../../../lib/providers/google/schema.ts'
import { googleBody } from '../../support/google.ts'

t.test('parameters use the schema keywords that the provider supports', async t => {
  const schema = (parameters: object): unknown =>
    googleBody({ tools: [{ function: { name: 'f', parameters: { ...parameters } } }] }).tools?.[0]
      ?.functionDeclarations[0]?.parametersJsonSchema
  t.same(schema({}), undefined)
  t.same(
    schema({ type: 'object', properties: {}, additionalProperties: false }),
    undefined,
    'no parameters at all'
  )
  t.same(
    schema({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: ['OBJECT', 'null'],
      additional_properties: false,
      required: ['cityName', 'const'],
      properties: {
        city_name: { type: 'string', min_length: 1, pattern: 'x' },
        const: { const: 1 },
        $schema: { type: 'array' },
        pair: { type: 'array', items: [{ type: 'string' }, true], min_items: 2 },
        any: {
          any_of: [{ type: 'null' }, { $ref: '#/definitions/Pier', title: 'dropped', description: 'd' }]
        },
        pier: { description: 'where', allOf: [{ $ref: '#/definitions/pier' }] },
        both: {
          allOf: [{ properties: { a: { type: 'string' } }, required: ['a'] }, { $ref: '#/$defs/Pier' }],
          required: ['b']
        }
      },
      definitions: {
        Pier: {
          type: 'object',
          properties: { b: { type: 'number', exclusiveMinimum: 1 }, next: { $ref: '#/definitions/Pier' } }
        }
      }
    }),
    {
      type: 'object',
      additionalProperties: false,
      required: ['city_name', 'const'],
      properties: {
        city_name: { type: 'string' },
        const: { enum: [1] },
        $schema: { type: 'array', items: {} },
        pair: { type: 'array', prefixItems: [{ type: 'string' }, {}], minItems: 2 },
        any: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/Pier', description: 'd' }] },
        pier: { $ref: '#/$defs/Pier', description: 'where' },
        both: {
          type: 'object',
          required: ['b', 'a'],
          properties: { b: { type: 'number' }, next: { $ref: '#/$defs/Pier' }, a: { type: 'string' } }
        }
      },
      $defs: {
        Pier: { type: 'object', properties: { b: { type: 'number' }, next: { $ref: '#/$defs/Pier' } } }
      }
    }
  )
  t.match(
    schema({ $ref: '#/$defs/Root', $defs: { Root: { properties: { self: { $ref: '#/$defs/Root' } } } } }),
    { type: 'object', properties: { self: { $ref: '#/$defs/Root' } }, $defs: { Root: {} } },
    'a root that is only a reference'
  )
  const endless = { allOf: [{ $ref: '#/$defs/Loop' }, { properties: { a: { type: 'string' } } }] }
  t.match(
    schema({ ...endless, $defs: { Loop: endless } }),
    { type: 'object', properties: { a: { type: 'string' } } },
    'a schema that contains itself comes to an end'
  )
})

t.test('a reference to another schema is expanded, and one without a target is dropped', async t => {
  const properties = (given: Record<string, unknown>): unknown =>
    functionSchema({ type: 'object', properties: given }, 'p')?.['properties']
  const nested = {
    type: 'object',
    $defs: { X: { type: 'string', $anchor: 'x' } },
    properties: { z: { type: 'string' } }
  }
  t.match(properties({ w: { $ref: '#/properties/w2/$defs/X', description: 'd' }, w2: nested }), {
    w: { type: 'string', description: 'd', $ref: undefined }
  })
  t.match(
    properties({
      a: { $ref: '#/properties/b/properties/z' },
      b: nested,
      c: { $ref: '#/nowhere', description: 'e' },
      d: { $ref: 'https://example.com/s' },
      e: { $ref: '#' }
    }),
    {
      a: { type: 'string' },
      c: { description: 'e', $ref: undefined },
      d: { $ref: undefined },
      e: { $ref: '#/$defs/root' }
    }
  )
  const loop = { type: 'object', properties: { b: { $ref: '#/properties/a' } } }
  t.same(
    properties({ a: loop }),
    { a: { type: 'object', properties: { b: { type: 'object', properties: { b: {} } } } } },
    'and one in itself ends'
  )
  t.match(
    functionSchema(
      { type: 'object', properties: { a: { $ref: '#x' } }, $defs: { X: { type: 'string', $anchor: 'x' } } },
      'p'
    ),
    { properties: { a: { type: 'string' } } }
  )
})

t.test('an enum has no empty texts, null is a branch of its own, and required properties exist', async t => {
  t.same(
    functionSchema(
      {
        type: 'object',
        properties: {
          mode: { type: 'string', enum: ['', 'a'] },
          status: { type: ['string', 'null'], enum: ['x', null], description: 'Of it.' },
          untyped: { enum: [null, 'x', 1] },
          wide: { type: ['STRING', 'null'], enum: ['', null] },
          none: { enum: [null] }
        },
        required: ['mode', 'ghost', 'mode']
      },
      'p'
    ),
    {
      type: 'object',
      properties: {
        mode: { type: 'string', enum: ['a'] },
        status: { description: 'Of it.', anyOf: [{ type: 'string', enum: ['x'] }, { type: 'null' }] },
        untyped: { anyOf: [{ enum: ['x', 1] }, { type: 'null' }] },
        wide: { type: ['string', 'null'] },
        none: { type: 'null' }
      },
      required: ['mode']
    }
  )
  t.notOk(
    'required' in (functionSchema({ type: 'object', properties: { a: {} }, required: ['ghost'] }, 'p') ?? {})
  )
})

t.test('a schema that is not an object has no properties', async t => {
  const inner = { properties: { b: {} }, required: ['b'], additionalProperties: false }
  t.same(
    functionSchema(
      {
        type: 'object',
        properties: { a: { type: 'string', ...inner }, c: { type: ['object', 'null'], ...inner } }
      },
      'p'
    ),
    {
      type: 'object',
      properties: { a: { type: 'string' }, c: { type: ['object', 'null'], ...inner } }
    }
  )
})

t.test('a schema that refers to itself as a whole, and one of null, keep their meaning', t => {
  const tree = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      kids: { type: 'array', items: { $ref: '#' } },
      z: { const: null }
    },
    $defs: { root: { type: 'number' } }
  }
  const own = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      kids: { type: 'array', items: { $ref: '#/$defs/root_' } },
      z: { type: 'null' }
    }
  }
  const expected = { ...own, $defs: { root: { type: 'number' }, root_: own } }
  t.same(answerSchema(tree, 'p'), expected)
  t.same(functionSchema(tree, 'p'), expected)
  t.same(answerSchema({ enum: ['a', ''], const: '' }, 'p'), { enum: ['a'] })
  t.end()
})
