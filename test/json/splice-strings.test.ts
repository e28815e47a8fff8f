import fc from 'fast-check'
import t from 'tap'
import { spliceInSlices, spliceStrings } from '../../lib/json/splice-strings.ts'
import { holds, holdsAsync } from '../support/property.ts'
import { ticksDuring } from '../support/ticks-during.ts'

t.test('only changed strings are rewritten', t => {
  const text = '{ "a" : 1.0,\n"b":[ "x\\u0041", "y" , {"c":"z","d":null}], "e":"z" }'
  const before = JSON.parse(text) as { b: [string, string, object] }
  const after = { ...before, b: [before.b[0], 'Y"', before.b[2]] }
  t.equal(spliceStrings(text, before, after), text.replace('"y"', '"Y\\""'))
  t.equal(
    spliceStrings(text, before, { ...before, b: ['A', 'y', { c: 'C', d: null }] }),
    text.replace('"x\\u0041"', '"A"').replace('"c":"z"', '"c":"C"')
  )
  t.equal(spliceStrings(text, before, before), text, 'nothing differs')
  t.equal(spliceStrings(' "x" ', 'x', 'y'), ' "y" ', 'a text alone')
  t.end()
})

t.test('members missing because they were null are kept', t => {
  const text = '{"n":null,"a":"x","m":{"k":[]}}'
  const m = { k: [] }
  t.equal(spliceStrings(text, { a: 'x', m }, { a: 'y', m }), '{"n":null,"a":"y","m":{"k":[]}}')
  t.end()
})

t.test(
  'added members go to the end of their object, other values replace strings',
  t => {
    const text = '{ "a" : [ { "n":1.0 } ], "b":{ }, "c" : "x", "d":null }'
    const before = { a: [{ n: 1 }], b: {}, c: 'x' }
    const after = {
      a: [{ n: 1, m: { k: 1 }, absent: undefined }],
      b: { m: 2, o: [] },
      c: [{ text: 'x' }],
      e: 3
    }
    t.equal(
      spliceStrings(text, before, after),
      '{ "a" : [ { "n":1.0 ,"m":{"k":1}} ], "b":{ "m":2,"o":[]}, "c" : [{"text":"x"}], "d":null ,"e":3}'
    )
    t.end()
  }
)

t.test('when a null member gets a value, the whole text is printed anew', t => {
  t.equal(spliceStrings('{"a":1.0,"m":null}', { a: 1 }, { a: 1, m: { k: 1 } }), '{"a":1,"m":{"k":1}}')
  t.end()
})

t.test('a text with a duplicate member is printed anew', t => {
  t.equal(spliceStrings('{"a":"x","a":"y"}', { a: 'y' }, { a: 'z' }), '{"a":"z"}')
  t.end()
})

/** Returns a value with all strings changed except those that begin with `k`. */
function changed (value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith('k') ? value : `${value}!`
  if (Array.isArray(value)) return value.map(changed)
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, changed(member)]))
    : value
}

t.test('spliced text parses to the intended value, for any value', t => {
  holds(t, fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(0, 1), (value, spaces) => {
    const text = JSON.stringify(value, null, spaces)
    const after = changed(JSON.parse(text))
    return JSON.stringify(JSON.parse(spliceStrings(text, JSON.parse(text), after))) === JSON.stringify(after)
  }))
  t.end()
})

t.test('splicing in slices gives the same text, for any value', async t => {
  await holdsAsync(t, fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async value => {
    const text = JSON.stringify(value, null, 1)
    const before: unknown = JSON.parse(text)
    const after = changed(before)
    return await spliceInSlices(text, before, after) === spliceStrings(text, before, after)
  }))
  const long = [Array.from({ length: 100_000 }, () => ({ a: 'x' })), 'k'.repeat(1_000_000)]
  const text = JSON.stringify(long, null, 1)
  const before = JSON.parse(text) as [unknown, string]
  const turns = await ticksDuring(async () => {
    t.equal(await spliceInSlices(text, before, before), text)
    t.equal(await spliceInSlices(text, before, [before[0], 'y'.repeat(1_000_000)]), text.replaceAll('k', 'y'))
  })
  t.ok(turns > 12, `${turns} turns`)
})

t.test('splicing in slices finds a duplicate member even where nothing changed', async t => {
  for (const text of ['{"a":{"b":"x","b":"y"},"c":"z"}', '{"a":["b","c"],"a":{"b":"y"},"c":"z"}']) {
    const value: unknown = JSON.parse(text)
    t.equal(await spliceInSlices(text, value, value), '{"a":{"b":"y"},"c":"z"}')
  }
})
