import t from 'tap'
import { Explanation } from '../../../lib/validation/explain/explanation.ts'
import {
  checkLiteral,
  checkNumber,
  checkSize,
  checkText,
  expression,
  quote,
  wrongType
} from '../../../lib/validation/explain/single-values.ts'
import type { ValidationDetail } from '../../../lib/core/errors.ts'

function foundBy (check: (found: Explanation) => void): ValidationDetail[] {
  const found = new Explanation(20, [])
  check(found)
  return found.details
}

t.test('a value of the wrong type is reported with the expected type', async t => {
  const rows = [
    ['string', 'string_type', 'Input should be a valid string'],
    ['integer', 'int_type', 'Input should be a valid integer'],
    ['number', 'float_type', 'Input should be a valid number'],
    ['boolean', 'bool_type', 'Input should be a valid boolean'],
    ['array', 'list_type', 'Input should be a valid list'],
    ['object', 'dict_type', 'Input should be a valid dictionary'],
    ['null', 'none_required', 'Input should be None'],
    ['other', 'value_error', 'Value error, not allowed here']
  ] as const
  for (const [type, code, msg] of rows) {
    t.strictSame(
      foundBy(found => wrongType({ type }, 5, found)),
      [{ loc: [], msg, type: code, input: 5 }],
      type
    )
  }
  t.match(foundBy(found => wrongType({ const: 'a' }, 5, found)), [{ type: 'literal_error' }])
})

t.test('the allowed values are listed', async t => {
  t.same(
    foundBy(found => checkLiteral({ enum: ['a', 1, null] }, null, found)),
    []
  )
  t.strictSame(
    foundBy(found => checkLiteral({ enum: ['a', 1, null] }, 'b', found)),
    [
      {
        loc: [],
        msg: "Input should be 'a', 1 or null",
        type: 'literal_error',
        input: 'b',
        ctx: { expected: "'a', 1 or null" }
      }
    ]
  )
  t.match(
    foundBy(found => checkLiteral({ const: 'a' }, 'b', found)),
    [{ msg: "Input should be 'a'" }]
  )
})

t.test('a size at its limits is valid, one beyond is not', async t => {
  t.same([1, 2].flatMap(size => foundBy(found => checkSize('List', size, 1, 2, found))), [])
  t.strictSame(foundBy(found => checkSize('List', 0, 1, 2, found)), [{
    loc: [],
    msg: 'List should have at least 1 item after validation, not 0',
    type: 'too_short',
    ctx: { field_type: 'List', actual_length: 0, min_length: 1 }
  }])
  t.strictSame(foundBy(found => checkSize('Dictionary', 3, 1, 2, found)), [{
    loc: [],
    msg: 'Dictionary should have at most 2 items after validation, not 3',
    type: 'too_long',
    ctx: { field_type: 'Dictionary', actual_length: 3, max_length: 2 }
  }])
})

t.test('a text is measured in characters, not in UTF-16 units', async t => {
  t.same(foundBy(found => checkText({ minLength: 2, maxLength: 2 }, '🎈🎈', found)), [])
  t.match(foundBy(found => checkText({ minLength: 3 }, '🎈🎈', found)), [
    { type: 'string_too_short', msg: 'String should have at least 3 characters', ctx: { min_length: 3 } }
  ])
  t.match(foundBy(found => checkText({ maxLength: 1 }, '🎈🎈', found)), [
    { type: 'string_too_long', msg: 'String should have at most 1 character', ctx: { max_length: 1 } }
  ])
})

t.test('a text must match its pattern, which is compiled once', async t => {
  t.same(foundBy(found => checkText({ pattern: '^a' }, 'ab', found)), [])
  t.match(foundBy(found => checkText({ pattern: '^a' }, 'ba', found)), [
    { type: 'string_pattern_mismatch', msg: "String should match pattern '^a'", ctx: { pattern: '^a' } }
  ])
  t.equal(expression('^a'), expression('^a'))
})

t.test('a number at a limit is valid unless the limit is exclusive', async t => {
  const bounds = { type: 'integer', minimum: 1, maximum: 3 }
  t.same(
    [1, 3].flatMap(value => foundBy(found => checkNumber(bounds, value, found))),
    []
  )
  const reported = (schema: object, value: number): unknown =>
    foundBy(found => checkNumber(schema, value, found)).map(({ type, ctx }) => [type, ctx])
  t.strictSame(reported(bounds, 0), [['greater_than_equal', { ge: 1 }]])
  t.strictSame(reported(bounds, 4), [['less_than_equal', { le: 3 }]])
  t.strictSame(reported(bounds, 1.5), [['int_from_float', undefined]])
  t.strictSame(reported({ exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0), [['greater_than', { gt: 0 }]])
  t.strictSame(reported({ exclusiveMinimum: 0, exclusiveMaximum: 1 }, 1), [['less_than', { lt: 1 }]])
  t.strictSame(reported({ exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5), [])
})

t.test('texts are quoted, other values are not', async t => {
  t.same(['a', 1, null, true].map(quote), ["'a'", '1', 'null', 'true'])
})
