import fc from 'fast-check'
import t from 'tap'
import { JsonCursor } from '../../lib/json/json-cursor.ts'
import { holds } from '../support/property.ts'
import { scalesWith } from '../support/scaling.ts'

const of = (text: string): JsonCursor => new JsonCursor(Buffer.from(text))

t.test('an object is walked key by key, each value read, parsed or skipped', async t => {
  const outline = of(' {"a" : [1,2] , "b":{"c":"]}"},"d":null, "e":1.5e3 } ')
  const seen: unknown[] = []
  for (const key of outline.keys()) {
    if (key === 'a') seen.push([key, outline.take().toString()])
    else if (key === 'b') seen.push([key, outline.parse()])
    else if (key === 'd') {
      seen.push([key, outline.isNull])
      outline.skip()
    } else seen.push([key, outline.parse()])
  }
  outline.end()
  t.strictSame(seen, [['a', '[1,2]'], ['b', { c: ']}' }], ['d', true], ['e', 1500]])
})

t.test('an array is walked item by item', async t => {
  const outline = of('[ "a,b" , [[]], {} ]')
  const items: unknown[] = []
  for (const index of outline.items()) items.push([index, outline.parse()])
  outline.end()
  t.strictSame(items, [[0, 'a,b'], [1, [[]]], [2, {}]])
  t.same([[...of('[]').items()], [...of('{ }').keys()]], [[], []])
})

t.test('values are read as JSON.parse reads them, whatever surrounds them', async t => {
  holds(
    t,
    fc.property(fc.json(), text => {
      const outline = of(`{"before":[1,2,3],"value": ${text} ,"after":"\\""}`)
      const values = new Map<string, string>()
      for (const key of outline.keys()) values.set(key, outline.take().toString())
      outline.end()
      return (
        JSON.stringify(JSON.parse(values.get('value') ?? '')) === JSON.stringify(JSON.parse(text)) &&
        values.get('after') === '"\\""'
      )
    })
  )
})

t.test('a string ends at an unescaped quote', async t => {
  for (const text of [String.raw`"\\"`, String.raw`"a\"b"`, String.raw`"\\\"\\"`]) {
    const outline = of(`${text} `)
    t.equal(outline.parse(), JSON.parse(text))
    outline.end()
  }
})

t.test('a byte order mark is skipped', async t => {
  const outline = new JsonCursor(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{}')]))
  t.same([...outline.keys()], [])
  outline.end()
})

t.test('text that is not JSON is an error of the provider', async t => {
  const invalid = { code: 'upstream_invalid_response' }
  const walk = (text: string): void => {
    const outline = of(text)
    for (const key of outline.keys()) void [key, outline.parse()]
    outline.end()
  }
  for (const text of [
    '',
    '[',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,}',
    '{"a" 1}',
    '{1:2}',
    '{"a":"b}',
    '{"a":[1,2}',
    '{"a":{"b":1}',
    '{"a":tru}',
    '{} x',
    '{"a":1 2}'
  ]) {
    t.throws(() => walk(text), invalid, text)
  }
  t.throws(() => [...of('{}').items()], invalid)
})

t.test('long arrays of numbers and strings of backslashes are skipped in linear time', async t => {
  const texts: Readonly<Record<string, (size: number) => string>> = {
    numbers: size => `[${'1,'.repeat(size)}1]`,
    backslashes: size => `["${'\\\\'.repeat(size)}"]`
  }
  for (const [name, textOf] of Object.entries(texts)) {
    t.equal(of(textOf(10)).take().length, textOf(10).length)
    scalesWith(t, name, {
      from: 100_000,
      input: size => Buffer.from(textOf(size)),
      run: bytes => new JsonCursor(bytes).take()
    })
  }
})
