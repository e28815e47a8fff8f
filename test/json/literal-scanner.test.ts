import t from 'tap'
import fc from 'fast-check'
import { LiteralScanner, textOfLiteral } from '../../lib/json/literal-scanner.ts'
import { holds } from '../support/property.ts'

function scan (text: string): readonly [end: number, characters: number, isAscii: boolean] {
  const { end, characters, isAscii } = new LiteralScanner().scan(Buffer.from(text).toString('latin1'), 1)
  return [end, characters, isAscii]
}

t.test('the end of a string, and the length of its text', async t => {
  t.same(scan('"a" "'), [2, 1, true])
  t.same(scan('"\\"\\\\\\u00fC\\n"'), [13, 4, true])
  t.same(scan('"ü€\u{1F680}"'), [10, 4, false])
})

t.test('what no string in JSON has is not passed', async t => {
  for (const text of ['"a', '"\n"', '"\\x"', '"\\u12g4"', '"\\u123"', '"\\']) t.equal(scan(text)[0], -1, JSON.stringify(text))
})

t.test('any text: its end, its length and the text itself are found', async t => {
  const escaped = (text: string): string => JSON.stringify(text).replace(/[^ -~]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
  holds(t, fc.property(fc.string({ unit: 'binary' }), fc.constantFrom(JSON.stringify, escaped), fc.string(), (text, print, after) => {
    const literal = print(text)
    const bytes = Buffer.from(literal).toString('latin1')
    const [end, characters] = scan(literal + after)
    return end === bytes.length - 1 && characters === text.length && textOfLiteral(bytes.slice(1, -1)) === text
  }), { numRuns: 300 })
})
