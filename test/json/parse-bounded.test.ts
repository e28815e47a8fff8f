import fc from 'fast-check'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseBounded, isDeeperThan, ValueCounter } from '../../lib/json/parse-bounded.ts'
import { holds } from '../support/property.ts'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

t.test('text from outside is parsed up to 256 levels', async t => {
  t.same(parseBounded(nested(256)), JSON.parse(nested(256)))
  t.throws(() => parseBounded(nested(257)), SyntaxError)
  t.throws(() => parseBounded('[1,'), SyntaxError)
})

t.test('JSON that takes more than 40 ms to parse is refused', async t => {
  const list = (count: number, item: string): string =>
    `[${Array.from({ length: count }, () => item).join()}]`
  t.equal(Object(parseBounded(list(400_000, '1'))).length, 400_000)
  t.throws(() => parseBounded(list(600_000, '1')), SyntaxError)
  t.throws(() => parseBounded(list(70_000, '{}')), SyntaxError)
  t.equal(
    Object(parseBounded(list(5, JSON.stringify(',{"'.repeat(300_000))))).length,
    5,
    'what a text holds is no value'
  )
})

t.test('JSON that callers and servers put into strings is parsed with a depth limit', async t => {
  const folder = join(import.meta.dirname, '../../../lib')
  const files = ['attempts', 'chat', 'client', 'dialects', 'mcp', 'providers', 'validation'].flatMap(name =>
    readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => join(name, file))
  )
  t.ok(files.some(file => readFileSync(join(folder, file), 'utf8').includes('parseBounded(')))
  const unexplained = files.flatMap(file => {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n')
    const isExplained = (index: number): boolean =>
      lines.slice(Math.max(0, index - 2), index + 2).some(line => /(?:^| )\/\/ /.test(line))
    return lines.flatMap((line, index) =>
      line.includes('JSON.parse(') && !isExplained(index) ? [`${file}: ${line}`] : []
    )
  })
  t.same(
    unexplained,
    [],
    'call `parseBounded`, or say beside it why the depth is bounded, or that nothing walks or prints the value'
  )
})

t.test('nested objects and arrays count, brackets inside strings do not', async t => {
  t.equal(isDeeperThan('text', 0), false)
  t.equal(isDeeperThan([], 0), true)
  t.equal(isDeeperThan([], 1), false)
  t.equal(isDeeperThan({ a: [1, null, { b: 'x' }] }, 2), true)
  t.equal(isDeeperThan({ a: [1, null, { b: 'x' }] }, 3), false)
})

t.test('deep nesting does not grow the stack', async t => {
  t.equal(isDeeperThan(JSON.parse(nested(100_000)), 99_999), true)
})

function counted (text: string, cut: number, longBytes = 8): ValueCounter {
  const counter = new ValueCounter(longBytes)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += cut) counter.push(bytes.subarray(at, at + cut))
  return counter
}

/** Counts the values and keys of a parsed value. */
function valuesIn (value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + valuesIn(item), 1)
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, item) => sum + 1 + valuesIn(item), 1)
}

t.test('at least as many values are counted as JSON.parse makes, at most twice as many', async t => {
  holds(t, fc.property(fc.json(), fc.integer({ min: 1, max: 9 }), (text, cut) => {
    const { count } = counted(text, cut)
    const values = valuesIn(JSON.parse(text))
    return count >= values && count <= 2 * values
  }))
  t.equal(counted('{"a":[1,2,{}]}', 3).count, valuesIn({ a: [1, 2, {}] }) + 1)
})

t.test('the deepest point is found, whatever strings contain', async t => {
  for (const cut of [1, 3, 100]) {
    t.equal(counted('[[{"a":["[[[[["]}],[]]', cut).deepest, 4)
    t.equal(counted('"[["', cut).deepest, 0)
  }
})

t.test('keys, strings, objects and arrays weigh as much as eight numbers', async t => {
  for (const cut of [1, 3, 100]) {
    t.equal(counted('[1,2,3]', cut).parseCost, 4 + 7)
    t.equal(counted('["a","b"]', cut).parseCost, 3 + 7 * 3)
    t.equal(counted('{"a":{"b":"c"}}', cut).parseCost, 5 + 7 * 5)
  }
})

t.test('the contents of a string are not counted as values, wherever the text is cut', async t => {
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
