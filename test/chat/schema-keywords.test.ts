import t from 'tap'
import { repairSchemaKeywords } from '../../lib/chat/schema-keywords.ts'

t.test('snake_case keywords get their original spelling wherever a schema is expected', async t => {
  t.same(repairSchemaKeywords({
    type: 'object',
    additional_properties: false,
    min_properties: 1,
    properties: {
      size: { any_of: [{ type: 'integer', exclusive_minimum: 0 }, { type: 'null' }] },
      tags: { type: 'array', unique_items: true, items: { type: 'string', max_length: 9 } },
      pair: { prefix_items: [{ multiple_of: 2 }, true] }
    },
    $defs: { Name: { not: { min_length: 3 } } },
    pattern_properties: { '^x_': { one_of: [{ read_only: true }] } }
  }), {
    type: 'object',
    additionalProperties: false,
    minProperties: 1,
    properties: {
      size: { anyOf: [{ type: 'integer', exclusiveMinimum: 0 }, { type: 'null' }] },
      tags: { type: 'array', uniqueItems: true, items: { type: 'string', maxLength: 9 } },
      pair: { prefixItems: [{ multipleOf: 2 }, true] }
    },
    $defs: { Name: { not: { minLength: 3 } } },
    patternProperties: { '^x_': { oneOf: [{ readOnly: true }] } }
  })
})

t.test('the same words are unchanged where they are names or data', async t => {
  const schema = {
    properties: { any_of: { type: 'string' }, max_length: { default: { min_items: 1 } } },
    required: ['any_of'],
    enum: [{ one_of: 1 }],
    const: { all_of: [] },
    examples: [{ additional_properties: true }],
    dependencies: { any_of: ['max_length'] },
    x_vendor: { any_of: [] }
  }
  t.equal(repairSchemaKeywords(schema), schema, 'nothing is copied')
})

t.test('if both spellings are present, the correct one wins', async t => {
  t.same(repairSchemaKeywords({ any_of: [{ type: 'null' }], anyOf: [{ type: 'string' }] }), {
    anyOf: [{ type: 'string' }]
  })
})

t.test('the original schema is not modified, and a property named __proto__ is kept', async t => {
  const schema: Record<string, unknown> = JSON.parse('{"properties":{"__proto__":{"min_length":1}}}')
  const before = JSON.stringify(schema)
  t.equal(JSON.stringify(repairSchemaKeywords(schema)), '{"properties":{"__proto__":{"minLength":1}}}')
  t.equal(JSON.stringify(schema), before)
})
