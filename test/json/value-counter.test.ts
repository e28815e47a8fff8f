import fc from 'fast-check'
import t from 'tap'
import { ValueCounter } from '../../lib/json/value-counter.ts'
import { holds } from '../support/property.ts'

function counted (text: string, cut: number, longBytes = 8): ValueCounter {
  const counter = new ValueCounter(longBytes)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += cut) counter.push(bytes.subarray(at, at + cut))
  return counter
}

/** Counts what a parser made: every value and every key. */
function valuesIn (value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + valuesIn(item), 1)
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, item) => sum + 1 + valuesIn(item), 1)
}

t.test('no JSON text has more values than are counted, and at most twice as many are counted', async t => {
  holds(t, fc.property(fc.json(), fc.integer({ min: 1, max: 9 }), (text, cut) => {
    const { count } = counted(text, cut)
    const values = valuesIn(JSON.parse(text))
    return count >= values && count <= 2 * values
  }))
  t.equal(counted('{"a":[1,2,{}]}', 3).count, valuesIn({ a: [1, 2, {}] }) + 1)
})

t.test('the deepest place is known, whatever strings hold', async t => {
  for (const cut of [1, 3, 100]) {
    t.equal(counted('[[{"a":["[[[[["]}],[]]', cut).deepest, 4)
    t.equal(counted('"[["', cut).deepest, 0)
  }
})

t.test('keys, strings, objects and lists weigh as much as eight numbers', async t => {
  for (const cut of [1, 3, 100]) {
    t.equal(counted('[1,2,3]', cut).parseCost, 4 + 7)
    t.equal(counted('["a","b"]', cut).parseCost, 3 + 7 * 3)
    t.equal(counted('{"a":{"b":"c"}}', cut).parseCost, 5 + 7 * 5)
  }
})

t.test('what stands in a string is no value, wherever the text is cut', async t => {
  for (const text of ['"a,b:c[d{"', String.raw`"\",\\\",{["`, String.raw`"\\"`, String.raw`"\\\\\\\""`]) {
    for (let cut = 1; cut <= text.length; cut++) {
      t.equal(counted(text, cut).count, 1, `${text} in pieces of ${cut}`)
      t.equal(counted(`[${text},${text}]`, cut).count, 3, `two of ${text} in pieces of ${cut}`)
    }
  }
})

t.test('long strings are measured, wherever the text is cut', async t => {
  const text = String.raw`{"short":"1234567","long":"12345678","longer":"1234\"67890"}`
  for (let cut = 1; cut <= text.length; cut++) {
    t.equal(counted(text, cut).largeStringBytes, 19, `pieces of ${cut}`)
  }
})
