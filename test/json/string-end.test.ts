import fc from 'fast-check'
import t from 'tap'
import { closingQuote, isEscaped } from '../../lib/json/string-end.ts'
import { scalesWith } from '../support/scaling.ts'

const text = fc.string({ unit: fc.constantFrom('a', 'ß', '"', '\\', '\n'), maxLength: 40 })

t.test(
  'a string ends where the printer ended it, in text and in bytes, wherever the search resumes',
  async t => {
    fc.assert(
      fc.property(text, text, fc.nat({ max: 100 }), (string, rest, from) => {
        const json = `${JSON.stringify(string)}${rest}`
        const end = JSON.stringify(string).length - 1
        const bytes = Buffer.from(json)
        const endInBytes = Buffer.byteLength(JSON.stringify(string)) - 1
        return (
          closingQuote(json, 1) === end &&
          closingQuote(json, 1, 1 + Math.min(from, end - 1)) === end &&
          closingQuote(bytes, 1) === endInBytes &&
          closingQuote(bytes, 1, 1 + Math.min(from, endInBytes - 1)) === endInBytes
        )
      })
    )
    t.equal(closingQuote('"cut \\"', 1), -1)
    t.equal(closingQuote(Buffer.from('"cut \\"'), 1), -1)
  }
)

t.test('an even number of backslashes escapes nothing', async t => {
  t.same(
    ['\\', '\\\\', '\\\\\\'].map(before => isEscaped(`${before}"`, before.length, 0)),
    [true, false, true]
  )
  t.equal(isEscaped('\\\\"', 2, 1), true, 'what stands before the string does not count')
})

t.test('the time to find an end is linear in the length of the string', async t => {
  const textOf = (size: number): string => `${'\\'.repeat(4 * size)}"${'\\"'.repeat(size)}"`
  const bytes = Buffer.from(textOf(10))
  t.equal(closingQuote(bytes, 0), 40)
  t.equal(closingQuote(bytes, 41), bytes.length - 1)
  scalesWith(t, 'a string', {
    from: 100_000,
    input: size => Buffer.from(textOf(size)),
    run: bytes => closingQuote(bytes, closingQuote(bytes, 0) + 1)
  })
})
