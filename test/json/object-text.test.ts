import t from 'tap'
import fc from 'fast-check'
import { countKeys, readObjectText, replaceFields } from '../../lib/json/object-text.ts'
import { holds } from '../support/property.ts'

function replaced (text: string, values: Readonly<Record<string, string>>): string | undefined {
  const outline = readObjectText(text)
  return outline && replaceFields(text, outline, new Map(Object.entries(values)))
}

t.test('a field is replaced and nothing else', async t => {
  t.equal(replaced('{"model":"a","n":1.0}', { model: '"b"' }), '{"model":"b","n":1.0}')
  t.equal(
    replaced(' { "n" : 1e2 ,\n"model" : "a\\"}" , "x":{"model":"a"} } ', { model: '"b"', n: '3' }),
    ' { "n" : 3 ,\n"model" : "b" , "x":{"model":"a"} } '
  )
  t.equal(replaced('{"\\u006dodel":"a"}', { model: '"b"' }), '{"\\u006dodel":"b"}', 'a key with an escape')
  t.equal(
    replaced('{"n":[{"a":"]}"}]}', { model: '"b"' }),
    '{"model":"b","n":[{"a":"]}"}]}',
    'a field that is not there comes first'
  )
  t.equal(replaced('{}', { model: '"b"' }), '{"model":"b"}')
})

t.test('anything but an object without duplicate fields is rejected', async t => {
  for (const text of ['[]', '"a"', '1', '{"a":1,"b":2,"a":3}', '{"a":1,"\\u0061":3}']) {
    t.equal(readObjectText(text), undefined, text)
  }
})

t.test('a nested duplicate key shows in the count', async t => {
  const text = '{"a":{"b":1,"b":2},"c":[{"d":{}}]}'
  t.equal(readObjectText(text)?.keys, 5)
  t.equal(countKeys(JSON.parse(text)), 4)
})

t.test('in any object fields are found where a parser finds them', async t => {
  const objects = fc.dictionary(fc.string(), fc.jsonValue())
  holds(
    t,
    fc.property(objects, fc.constantFrom(undefined, 1), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent)
      const outline = readObjectText(text)
      if (outline === undefined) return false
      const names = Object.keys(JSON.parse(text) as object)
      return (
        outline.keys === countKeys(JSON.parse(text)) &&
        outline.fields.size === names.length &&
        [...outline.fields].every(
          ([name, { start, end }]) =>
            JSON.stringify(JSON.parse(text.slice(start, end))) === JSON.stringify(value[name])
        )
      )
    }),
    { numRuns: 200 }
  )
})
