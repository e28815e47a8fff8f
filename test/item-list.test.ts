import fc from 'fast-check'
import t from 'tap'
import { joinItems, splitItems } from '../schemas/admin/item-list.ts'
import { holds } from './support/property.ts'

t.test('a list is read as it was written', async t => {
  const name = fc.string({ unit: fc.constantFrom('a', ',', '\\', ' '), minLength: 1, maxLength: 5 })
  holds(t, fc.property(fc.array(name), names => {
    const read = splitItems(joinItems(names))
    return read.length === names.length && read.every((item, index) => item === names[index])
  }))
})

t.test('a text written by hand is a list', async t => {
  for (const [text, items] of [
    ['', []],
    ['a', ['a']],
    ['a,,b,', ['a', 'b']],
    ['Doe\\, Jane,Bob', ['Doe, Jane', 'Bob']],
    ['team\\red,blue', ['team\\red', 'blue']],
    ['a\\\\,b', ['a\\', 'b']],
    ['a\\', ['a\\']]
  ] as const) t.same(splitItems(text), items, text)
})
