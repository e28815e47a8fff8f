import t from 'tap'
import { Type, type TSchema } from 'typebox'
import { explain } from '../../lib/validation/explain.ts'
import { MapOf } from '../../schemas/nullable.ts'

t.test('keywords used by other endpoints are explained too', async t => {
  const rows: Array<[schema: TSchema, value: unknown, expected: object[]]> = [
    [
      Type.Record(Type.String({ pattern: '^[a-z]+$' }), Type.Integer()),
      { a: 'x', B: 'y' },
      [{ loc: ['body', 'a'], type: 'int_type' }]
    ],
    [
      Type.Object({}, { additionalProperties: false }),
      { a: 1 },
      [{ loc: ['body', 'a'], type: 'extra_forbidden', input: 1 }]
    ],
    [Type.Number({ exclusiveMinimum: 0 }), 0, [{ type: 'greater_than', ctx: { gt: 0 } }]],
    [Type.Number({ exclusiveMaximum: 1 }), 1, [{ type: 'less_than', ctx: { lt: 1 } }]],
    [Type.Null(), 1, [{ type: 'none_required' }]],
    [
      MapOf(Type.String(), { propertyNames: { pattern: '^a' } }),
      { b: 'c' },
      [{ loc: ['body', 'b', '[key]'] }]
    ],
    [
      Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })]),
      {},
      [
        { loc: ['body', 'a'], type: 'missing' },
        { loc: ['body', 'b'], type: 'missing' }
      ]
    ],
    [
      Type.Object({ a: Type.String() }, { minProperties: 2 }),
      { a: 'b' },
      [{ type: 'too_short', ctx: { min_length: 2 } }]
    ],
    // A branch that accepts any object makes any tag valid.
    [
      Type.Union([
        Type.Object({ type: Type.Literal('a') }),
        Type.Object({ type: Type.Literal('b') }),
        MapOf(Type.Unknown())
      ]),
      { type: 'c' },
      []
    ],
    // A string counts by characters, not by UTF-16 units.
    [Type.String({ maxLength: 2 }), '🎈🎈', []],
    [Type.String({ minLength: 3 }), '🎈🎈', [{ type: 'string_too_short' }]],
    // Lists are assigned to the branch with the fewest faults.
    [
      Type.Union([
        Type.Array(Type.String()),
        Type.Array(Type.Integer()),
        Type.Array(Type.Array(Type.Integer()))
      ]),
      [[1], [1, 'x']],
      [{ loc: ['body', 1, 1], type: 'int_type' }]
    ]
  ]
  for (const [schema, value, expected] of rows) {
    const detail = explain(schema, value)
    t.match(detail, expected, JSON.stringify(value))
    t.equal(detail.length, expected.length)
  }
})

t.test('a matching value has no faults, and faults are reported at the given place', async t => {
  const schema = Type.Object({ a: Type.Integer() })
  t.same(explain(schema, { a: 1, more: true }), [])
  t.strictSame(explain(schema, { a: '1' }, { loc: ['body', 'x', 3] }), [
    { loc: ['body', 'x', 3, 'a'], msg: 'Input should be a valid integer', type: 'int_type', input: '1' }
  ])
})

t.test('at most the requested number of faults is listed', async t => {
  const schema = Type.Array(Type.String())
  t.equal(explain(schema, Array.from({ length: 100 }, () => 1)).length, 20)
  t.equal(explain(schema, [1, 2, 3], { limit: 2 }).length, 2)
})

t.test('a union with a tag is explained by the tag', async t => {
  const Part = Type.Union([
    Type.Object({ type: Type.Literal('text'), text: Type.String() }),
    Type.Object({ type: Type.Literal('image'), url: Type.String() })
  ])
  t.strictSame(explain(Part, { type: 'image' }), [
    { loc: ['body', 'url'], msg: 'Field required', type: 'missing' }
  ])
  t.strictSame(explain(Part, {}), [{ loc: ['body', 'type'], msg: 'Field required', type: 'missing' }])
  t.strictSame(explain(Part, { type: 'sound' }), [{
    loc: ['body'],
    msg: "Input tag 'sound' found using 'type' does not match any of the expected tags: 'text', 'image'",
    type: 'union_tag_invalid',
    ctx: { discriminator: "'type'", tag: 'sound', expected_tags: "'text', 'image'" }
  }])
})

t.test('without a tag the branch with the fewest faults is explained', async t => {
  const Pair = Type.Union([
    Type.Object({ a: Type.Integer(), b: Type.Integer(), c: Type.Integer() }),
    Type.Object({ a: Type.Integer(), d: Type.String() }),
    Type.Object({ x: Type.Null(), y: Type.Null() })
  ])
  t.strictSame(explain(Pair, { a: 1 }), [{ loc: ['body', 'd'], msg: 'Field required', type: 'missing' }])
})

t.test('a branch that forbids a field is not chosen if the field is present', async t => {
  const Item = Type.Union([
    Type.Object({
      type: Type.Optional(Type.Literal('message')),
      role: Type.String(),
      content: Type.Array(Type.String())
    }),
    Type.Object({
      type: Type.Optional(Type.Literal('reference')),
      id: Type.String(),
      role: Type.Optional(Type.Never())
    })
  ])
  t.strictSame(
    explain(Item, { id: 'a', role: 'user', content: [1, 2] }).map(({ loc }) => loc),
    [
      ['body', 'content', 0],
      ['body', 'content', 1]
    ]
  )
  t.strictSame(explain(Item, { id: 1 }), [
    { loc: ['body', 'id'], msg: 'Input should be a valid string', type: 'string_type', input: 1 }
  ])
  t.match(explain(Type.Object({ gone: Type.Optional(Type.Never()) }), { gone: 1 }), [
    { loc: ['body', 'gone'], type: 'extra_forbidden' }
  ])
})
