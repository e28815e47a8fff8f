import t from 'tap'
import { LargeStringExtractor } from '../../lib/json/extract-large-strings.ts'
import { scalesWith } from '../support/scaling.ts'

function left ({ rest }: LargeStringExtractor): string {
  return Buffer.concat(rest).toString()
}

t.test('long strings are taken out of JSON at any cut, and nothing else is touched', async t => {
  const long = 'x'.repeat(50)
  const texts = [
    JSON.stringify({ a: long, b: 'short', [long]: 1, c: ['', '"', '\\', `\\"${long}`, long] }),
    `{"a":"${long}\\/${long}","b":"\\u0041${long}","c":"${'\\\\'.repeat(30)}"}`,
    JSON.stringify({ a: '"', b: Array.from({ length: 30 }, (_, index) => index), c: '\\' }), // nothing long but numbers
    JSON.stringify(long), '{}'
  ]
  for (const text of texts) {
    for (const size of [1, 2, 3, 7, 49, 1000]) {
      const strings = new LargeStringExtractor(20)
      const bytes = Buffer.from(text)
      strings.expect(bytes.length)
      for (let at = 0; at < bytes.length; at += size) strings.push(bytes.subarray(at, at + size))
      let rest = left(strings)
      for (const [placeholder, { bytes }] of strings.largeStrings) {
        t.match(bytes.toString(), /^x{50}(?:\/x{50})?$/, 'a long string, in one piece')
        rest = rest.replace(placeholder, () => bytes.toString())
      }
      t.same(JSON.parse(rest), JSON.parse(text), `${size}: ${text.slice(0, 30)}`)
    }
  }
  for (const broken of [`"${long}`, '"\\', '{"a":"b']) {
    const strings = new LargeStringExtractor(20)
    strings.expect(100)
    strings.push(Buffer.from(broken))
    t.throws(() => JSON.parse(left(strings)), 'what has no end is no JSON')
  }
  const many = new LargeStringExtractor(64 * 1024)
  const hostile = Buffer.from(JSON.stringify(Array.from({ length: 200_000 }, () => '')))
  many.expect(hostile.length)
  many.push(hostile)
  t.equal(left(many).length, hostile.length)
  t.equal(many.largeStrings.size, 0)
})

t.test('many short strings take time that is linear, in whatever pieces', async t => {
  scalesWith(t, 'strings of one piece', {
    from: 4096,
    input: size => Buffer.from(JSON.stringify(Array.from({ length: size }, () => 'a'))),
    run: bytes => {
      const strings = new LargeStringExtractor(64 * 1024)
      strings.expect(bytes.length)
      strings.push(bytes)
    }
  })
})
