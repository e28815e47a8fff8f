import fc from 'fast-check'
import t from 'tap'
import { LinearPattern } from '../../lib/text/linear-pattern.ts'
import { holds } from '../support/property.ts'

/** Returns a text with every part that belongs to a match in `<>`. */
function marked (source: string, text: string): string {
  return new LinearPattern([source])
    .find(text)
    .toReversed()
    .reduce(
      (rest, { start, end }) => `${rest.slice(0, start)}<${rest.slice(start, end)}>${rest.slice(end)}`,
      text
    )
}

t.test('patterns have the same meaning as in JavaScript', async t => {
  for (const [source, text, expected] of [
    [
      '\\b\\d{4}(?:-\\d{4}){3}\\b',
      'card 4111-1111-1111-1111, not 4111-1111-1111-11112',
      'card <4111-1111-1111-1111>, not 4111-1111-1111-11112'
    ],
    ['[\\w.+-]{1,64}@[\\w-]+(\\.[\\w-]+)+', 'to ada.l@example.co.uk!', 'to <ada.l@example.co.uk>!'],
    ['(?i)secret', 'Secret SECRET secrets', '<Secret> <SECRET> <secret>s'],
    ['(?i)[^x]b', 'xb Xb ab', 'xb Xb<ab>'.replace('Xb<ab>', 'Xb <ab>')],
    ['^a|b$', 'aab abb', '<a>ab ab<b>'],
    ['\\x41|\\u00e9|\\t|\\.', 'A é\t.', '<A> <é\t.>'],
    ['[\\]\\-x]', 'a]-x', 'a<]-x>'],
    ['a.c', 'abc a\nc', '<abc> a\nc'],
    ['(?<year>\\d{4})\\B', '20261 2026', '<20261> 2026'.replace('<20261>', '<2026>1')],
    ['a??b*?', 'aabb', '<aabb>'],
    ['', 'text', 'text']
  ] as const) {
    t.equal(marked(source, text), expected, source)
  }
})

t.test('every character of every match is found, and no other', async t => {
  const pattern = fc.letrec<{ any: string, leaf: string }>(tie => ({
    leaf: fc.constantFrom('a', 'b', '[ab]', '[^a]', '.'),
    any: fc.oneof(
      { depthSize: 'small' },
      tie('leaf'),
      fc.tuple(tie('any'), tie('any')).map(([one, other]) => `${one}${other}`),
      fc.tuple(tie('any'), tie('any')).map(([one, other]) => `(?:${one}|${other})`),
      fc
        .tuple(tie('any'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{2,}'))
        .map(([part, times]) => `(?:${part})${times}`)
    )
  })).any
  holds(
    t,
    fc.property(
      pattern,
      fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 }),
      (source, text) => {
        const belongs = new Set<number>()
        const complete = new RegExp(`^(?:${source})$`)
        for (let start = 0; start < text.length; start++) {
          for (let end = start + 1; end <= text.length; end++) {
            if (complete.test(text.slice(start, end))) for (let at = start; at < end; at++) belongs.add(at)
          }
        }
        const found = new LinearPattern([source])
          .find(text)
          .flatMap(({ start, end }) => Array.from({ length: end - start }, (_, index) => start + index))
        return JSON.stringify(found) === JSON.stringify([...belongs].toSorted((a, b) => a - b))
      }
    ),
    { numRuns: 300 }
  )
})

t.test('a pattern that is exponential for RegExp takes one pass, in steps', async t => {
  for (const source of ['(a+)+$', '(?:a|a)*b', 'a{0,400}a{0,400}b', '(x+x+)+y', '[ax]{1,900}!']) {
    const search = new LinearPattern([source]).search('ax'.repeat(2000))
    let steps = 0
    while (search.next().done !== true) steps++
    t.ok(steps < 200, `${source}: ${steps} steps`)
  }
})

t.test('a pattern that cannot be searched in one pass is refused with a reason', async t => {
  for (const [source, message] of [
    ['(?=a)', /lookaround/],
    ['(?<!a)b', /lookaround/],
    ['(a)\\1', /back reference/],
    ['\\p{L}', /`\\p`, which is not supported/],
    ['(a', /`\(` without/],
    ['a)', /`\)` without/],
    ['[a', /`\[` without/],
    ['*a', /nothing to repeat/],
    ['a**', /repeats a quantifier/],
    ['a{3,1}', /out of order/],
    ['[z-a]', /out of order/],
    ['(a{1000}){1000}', /too long/],
    ['\\', /ends with a backslash/],
    ['\\u12', /4 hexadecimal/],
    ['('.repeat(101) + ')'.repeat(101), /more than 100 groups/],
    ['^*', /repeats a position/]
  ] as const) {
    t.throws(() => new LinearPattern([source]), { message }, source)
  }
})
