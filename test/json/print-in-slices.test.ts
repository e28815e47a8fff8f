import fc from 'fast-check'
import { deepStrictEqual, equal } from 'node:assert'
import t from 'tap'
import { printInSlices } from '../../lib/json/print-in-slices.ts'
import { countTurns } from '../support/turns.ts'

async function printed (value: unknown): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of printInSlices(value)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/** Repeats a value until it is larger than one slice. */
const values = fc
  .tuple(fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }), fc.constantFrom(0, 1, 3000))
  .map(([value, count]) =>
    count === 0
      ? value
      : {
          start: value,
          list: Array.from({ length: count }, () => value),
          text: JSON.stringify(value).repeat(count),
          [`key ${'k'.repeat(count)}`]: [[value], value],
          end: []
        }
  )

t.test('a value of any size is printed as by JSON.stringify', async t => {
  const details = await fc.check(fc.asyncProperty(values, async value => {
    equal(await printed(value), JSON.stringify(value))
  }), { numRuns: 60 })
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? 'as JSON.stringify does it')
  const large = 'x'.repeat(200_000)
  const rows: Readonly<Record<string, unknown>> = {
    'members that are undefined': { a: undefined, b: large, c: undefined, d: { e: undefined } },
    'only members that are undefined, and long keys': Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`${index}`.repeat(9), undefined])
    ),
    'large members at both ends of a list': [large, 1, undefined, large],
    'large members only': [large, large],
    'lists in lists': [[[large]], [[]]],
    'characters of two units at every cut': '😀'.repeat(200_000) + large + 'a' + '😀'.repeat(200_000)
  }
  for (const [name, value] of Object.entries(rows)) equal(await printed(value), JSON.stringify(value), name)
})

t.test('a megabyte is printed over several turns, whatever it contains', async t => {
  const turns = countTurns(t)
  const rows: Readonly<Record<string, unknown>> = {
    'a text': 'a"'.repeat(1_000_000),
    'small objects': Array.from({ length: 300_000 }, () => ({})),
    'numbers': Array.from({ length: 300_000 }, (_, index) => index),
    'keys': Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`key ${index}`, { index }])),
    'deep below': { a: [{ b: Array.from({ length: 100_000 }, () => ({ c: 'd' })) }] }
  }
  for (const [name, value] of Object.entries(rows)) {
    const before = turns()
    deepStrictEqual(JSON.parse(await printed(value)), value)
    t.ok(turns() - before >= 5, `${name}: ${turns() - before} turns`)
  }
})
