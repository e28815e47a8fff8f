import fc from 'fast-check'
import t from 'tap'
import { NestedTooDeepError, NotUtf8Error, parseInSlices } from '../../lib/json/parse-in-slices.ts'
import { deepStrictEqual } from 'node:assert'
import { countTurns } from '../support/turns.ts'
import type { Test } from 'tap'
import { rounds } from '../support/rounds.ts'

const sizes = { runBytes: 4, pieceBytes: 16 }

async function parsed (text: string): Promise<unknown> {
  return await parseInSlices(Buffer.from(text), 100, sizes).catch((error: unknown) => {
    if (error instanceof SyntaxError) return SyntaxError
    throw error
  })
}

function expected (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return SyntaxError
  }
}

/**
 * Nested, with texts longer and shorter than a piece. Keys are shorter and have no backslash: JSON.parse of
 * Node.js 24 and 26 reads the key `"a\""` as `"a\\"` after an object with the latter.
 */
const values = fc.jsonValue({
  maxDepth: 4,
  stringUnit: fc.constantFrom('a', '"', '\\', 'ä', '😀', '\n', '{', ']', ',', '\ud83d')
})
const withShortKeys = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(withShortKeys)
    : typeof value !== 'object' || value === null
      ? value
      : Object.fromEntries(
          Object.entries(value).map(([key, member]) => [
            key.replaceAll('\\', '').slice(0, 2),
            withShortKeys(member)
          ])
        )
const texts = fc
  .tuple(values, fc.constantFrom('', ' ', '\n\t'))
  .map(([value, blank]) => JSON.stringify(withShortKeys(value), null, blank))

t.test('the result equals that of JSON.parse, wherever the text is cut', async t => {
  holdsAsync(t, await fc.check(fc.asyncProperty(texts, async text => {
    deepStrictEqual(await parsed(text), JSON.parse(text))
  }), { numRuns: rounds(300) }))
  const rows = [
    '[]',
    '{}',
    ' [ ] ',
    '[[],[]]',
    '{"a":{},"b":[]}',
    '[1,2,3,4,5,6,7]',
    '{"__proto__":1,"a":[1,2,3,4,5]}',
    '{"a":[1,2,3,4],"__proto__":{"b":2}}',
    '{"a":1,"b":2,"a":3}',
    `"${'a'.repeat(40)}"`,
    `["${String.raw`\\\\`.repeat(20)}"]`,
    `{"a":"${String.raw`\ud83d\ude00\n`.repeat(9)}","b":1}`,
    `["${'😀'.repeat(20)}",1]`,
    `[{"a":"${'x'.repeat(30)}"},{"a":[1,"${'y'.repeat(30)}"]}]`,
    ' 1 ',
    'null'
  ]
  for (const text of rows) t.strictSame(await parsed(text), JSON.parse(text), text)
})

t.test('what JSON.parse rejects is rejected', async t => {
  const long = `"${'a'.repeat(30)}"`
  const rows = [
    '',
    ' ',
    ',',
    '[',
    ']',
    '{',
    '}',
    '[1,2,3,4,5,]',
    '[,1,2,3,4,5]',
    '[1,2,3,,4,5]',
    '{"a":1,"b":2,}',
    '{,"a":1}',
    '[1,2,3,4}',
    '{"a":[1,2,3,4,5}',
    '[[1,2,3],[4,5,6]',
    '[1,2],[3,4]',
    '1,2',
    '1 2',
    '[[1,2,3,4] 5]',
    '[[1,2,3,4] [5]]',
    '[[1,2,3,4],]',
    '{"a":[1,2,3,4],}',
    '{"a":[1,2,3] "b":1}',
    `{"a":1${long}}`,
    `{"a" ${long}}`,
    `{${long}}`,
    `[1 ${long}]`,
    `[${long} 1]`,
    `[${long}${long}]`,
    `{"a":-${long}}`,
    `["${'a'.repeat(20)}\n"]`,
    `["${'a'.repeat(20)}${String.raw`\x`}"]`,
    `["${'a'.repeat(20)}`,
    String.raw`["aaaaaaaaaaaaaaaaaaaaa\"]`,
    '\ufeff[1,2,3,4,5]',
    '[tru,1,2,3]',
    '[1,2,3,4]x',
    '[01,2,3]'
  ]
  for (const text of rows) t.equal(await parsed(text), SyntaxError, text)
  const mutated = fc
    .tuple(
      texts,
      fc.nat(),
      fc.nat({ max: 2 }),
      fc.constantFrom('[', ']', '{', '}', ',', ':', '"', '\\', '1', ' ', 'a')
    )
    .map(([text, at, removed, added]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + added + text.slice(place + removed)
    })
  holdsAsync(
    t,
    await fc.check(
      fc.asyncProperty(mutated, async text => {
        const [seen, wanted] = [await parsed(text), expected(Buffer.from(text).toString())]
        // A cut may have made a key that is longer than a piece.
        if (seen === SyntaxError && wanted !== SyntaxError) return /"(?:[^"\\]|\\.){8,}"\s*:/.test(text)
        deepStrictEqual(seen, wanted)
        return true
      }),
      { numRuns: rounds(1000) }
    )
  )
  t.equal(await parsed(`{${long}:1}`), SyntaxError, 'a key longer than a piece')
  t.type(await parseInSlices(Buffer.from([0x22, 0xff, 0x22]), 100).catch(asValue), NotUtf8Error)
  for (const depth of [3, 4, 5]) {
    const nested = parseInSlices(Buffer.from(`${'[1,2,3,'.repeat(depth)}1${']'.repeat(depth)}`), 4, sizes)
    t.type(await nested.catch(asValue), depth > 4 ? NestedTooDeepError : Array)
  }
})

t.test('a megabyte is parsed over several ticks of the event loop, whatever it contains', async t => {
  const turns = countTurns(t)
  const rows: Readonly<Record<string, string>> = {
    'small objects': `[${'{},'.repeat(400_000)}{}]`,
    'one object of many keys': JSON.stringify(
      Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, index]))
    ),
    'a string': JSON.stringify('a"'.repeat(3_000_000)),
    'nothing': `[${' '.repeat(5_000_000)}]`,
    'lists in lists': `[${`[${'[1,2],'.repeat(20)}[]],`.repeat(9000)}1]`
  }
  for (const [name, text] of Object.entries(rows)) {
    const before = turns()
    deepStrictEqual(await parseInSlices(Buffer.from(text), 100), JSON.parse(text), name)
    t.ok(turns() - before >= 4, `${name}: ${turns() - before} turns`)
  }
})

const asValue = (error: unknown): unknown => error

function holdsAsync<Values> (t: Test, details: fc.RunDetails<Values>): void {
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? `holds for ${details.numRuns} values`)
}
