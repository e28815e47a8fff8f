import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  countOf,
  hasMember,
  isList,
  isObject,
  listOf,
  numberOf,
  objectOf,
  objectsOf,
  onlyObjectOf,
  nonEmptyText,
  property,
  stringOrJson,
  textOfValue,
  withoutNulls
} from '../../lib/json/type-guards.ts'

t.test('an object is neither null nor an array', async t => {
  t.equal(isObject({}), true)
  for (const value of [null, undefined, [], 'text', 1, true]) {
    t.equal(isObject(value), false)
    t.equal(objectOf(value), undefined)
  }
  const given = { a: 1 }
  t.equal(objectOf(given), given)
})

t.test('members that are null are left out', async t => {
  t.same(withoutNulls({ a: null, b: 0, c: { d: null } }), { b: 0, c: { d: null } })
  const given = { a: '' }
  t.equal(withoutNulls(given), given)
})

t.test('an array-like object is not an array', async t => {
  for (const value of [[], [1], Object.freeze([])]) t.equal(isList(value), true)
  for (const value of [null, undefined, {}, { length: 0 }, 'text']) t.equal(isList(value), false)
})

t.test('anything but a list is an empty list', async t => {
  const list = [1, 'a']
  t.equal(listOf(list), list)
  for (const value of [null, undefined, {}, { length: 1 }, 'text']) t.same(listOf(value), [])
})

t.test('a string stays as it is, and other values become JSON', async t => {
  t.same(['a "b"', { a: 1 }, 2, null, undefined].map(stringOrJson), ['a "b"', '{"a":1}', '2', 'null', ''])
})

t.test('a text is not empty, a number is finite', async t => {
  t.equal(nonEmptyText('a'), 'a')
  t.equal(nonEmptyText(''), undefined)
  t.equal(nonEmptyText(1), undefined)
  t.equal(numberOf(-0.5), -0.5)
  for (const value of [
    Number.NaN,
    Infinity,
    '',
    ' ',
    '0x10',
    '1 2',
    'Infinity',
    '1'.repeat(400),
    true,
    null
  ]) {
    t.equal(numberOf(value), undefined)
  }
})

t.test('a number in text is converted, and a count is a non-negative integer', async t => {
  for (const [text, number] of [
    ['12', 12],
    ['-0.5', -0.5],
    ['1e3', 1000],
    [' 7 ', 7]
  ] as const) {
    t.equal(numberOf(text), number)
  }
  for (const [value, count] of [
    [3, 3],
    ['3', 3],
    [2.6, 3],
    [-4, 0],
    ['-4', 0],
    ['x', undefined],
    [null, undefined]
  ] as const) {
    t.equal(countOf(value), count)
  }
})

t.test('the objects of an array keep their order, and anything else has none', async t => {
  t.same(objectsOf([{ a: 1 }, null, 'text', [{}], { b: 2 }]), [{ a: 1 }, { b: 2 }])
  for (const value of [undefined, null, {}, 'text']) t.same(objectsOf(value), [])
})

t.test('the only object of an array is found if it has no other items', async t => {
  t.same(onlyObjectOf([{ a: 1 }]), { a: 1 })
  for (const value of [undefined, {}, [], [null], [[]], [{ a: 1 }, { b: 2 }], [{ a: 1 }, null]]) {
    t.equal(onlyObjectOf(value), undefined)
  }
})

t.test('a member can be read of any value', async t => {
  t.equal(property({ a: 1 }, 'a'), 1)
  t.equal(property(new Error('no'), 'message'), 'no')
  t.equal(property([4, 5], '1'), 5)
  for (const value of [undefined, null, 'text', 1]) t.equal(property(value, 'length'), undefined)
})

t.test('a nested member is found at any depth', async t => {
  t.equal(hasMember([{ a: [{ b: null }] }], 'b'), true)
  for (const value of [undefined, null, 'b', ['b'], { a: 'b' }]) t.equal(hasMember(value, 'b'), false)
})

t.test('no other file defines its own guards', async t => {
  const root = join(import.meta.dirname, '../../..')
  const own = ['lib', 'pipelines', 'schemas']
    .flatMap(folder =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter(name => name.endsWith('.ts'))
        .map(name => join(folder, name))
    )
    .filter(file =>
      /typeof [\w.]+ === 'object' && [\w.]+ !== null|!== 'object' \|\| [\w.]+ === null/.test(
        readFileSync(join(root, file), 'utf8')
      )
    )
  t.same(own, ['lib/json/type-guards.ts'])
})

t.test('every JSON value has a text, whatever the names of its members', async t => {
  t.same(
    ['a', 1, null, undefined, ['x'], { toString: 1, valueOf: 1 }].map(textOfValue),
    ['a', '1', 'null', 'undefined', '["x"]', '{"toString":1,"valueOf":1}']
  )
})
