import fc from 'fast-check'
import t from 'tap'
import { boundedPattern, boundedSource } from '../../lib/text/bounded-pattern.ts'
import { holds } from '../support/property.ts'
import { scalesWith } from '../support/scaling.ts'

function found (source: string, text: string, maxRepeats = 256): string[] {
  return text.match(boundedPattern(source, maxRepeats).expression) ?? []
}

t.test('a pattern matches what the same regular expression matches', t => {
  t.same(found('TCK-\\d{6}', 'TCK-123456, tck-123456 TCK-12345'), ['TCK-123456'])
  t.same(found('(?i)tck-\\d{2,3}', 'TCK-12 tck-1234'), ['TCK-12', 'tck-123'])
  t.same(found('\\b(?:one|two)\\b', 'one, tone two'), ['one', 'two'])
  t.same(found('[^a-c]x', 'ax dx'), ['dx'])
  t.same(found('^a|b$', 'aab b'), ['a', 'b'])
  holds(
    t,
    fc.property(
      fc.constantFrom('a+b?', '(?:ab|c)+', 'a[bc]{1,2}c', '\\ba\\B', '.b', 'a.{0,9}?c', 'ab??c?'),
      fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '\n') }),
      (source, text) =>
        JSON.stringify(found(source, text)) === JSON.stringify(text.match(new RegExp(source, 'g')) ?? [])
    )
  )
  t.end()
})

t.test('unbounded repetitions get a limit, and the longest match is known', t => {
  t.equal(boundedPattern('x\\d+', 10).maxLength, 11)
  t.equal(boundedPattern('(?:ab|c){2,}', 3).maxLength, 6)
  t.equal(boundedPattern('\\bx?y', 10).maxLength, 2)
  t.same(found('x\\d+', 'x1234567890', 4), ['x1234'])
  t.end()
})

t.test('the source with these limits is the same pattern', t => {
  const rows: ReadonlyArray<readonly [source: string, bounded: string]> = [
    ['x\\d+', 'x\\d{1,9}'],
    ['(?i)(?:a*b){2,}?c{3}d{12,}', '(?i)(?:a{0,9}b){2,9}?c{3}d{12,12}'],
    ['[*+]+\\+', '[*+]{1,9}\\+'],
    ['(?<name>a|b+)', '(?<name>a|b{1,9})'],
    ['ab??c{2,3}', 'ab??c{2,3}']
  ]
  for (const [source, bounded] of rows) {
    t.equal(boundedSource(source, 9), bounded)
    t.same(boundedPattern(bounded, 1), boundedPattern(source, 9))
  }
  t.end()
})

t.test('an invalid pattern is explained', t => {
  const rows: ReadonlyArray<readonly [source: string, message: RegExp]> = [
    ['(', /^has a `\(` without a `\)`/],
    ['(?=a)', /lookaround/],
    ['a*', /^matches the empty text/],
    ['\\b', /^matches the empty text/],
    ['a{5000}', /^has matches of up to 5000 characters, of 4096 at most/],
    ['\\S+@\\S+x', /too many ways/],
    ['(?:a|a){1,200}b', /too many ways/],
    ['(\\w+\\s?)+x', /too many ways|matches of up to/]
  ]
  for (const [source, message] of rows) t.throws(() => boundedPattern(source, 256), { message }, source)
  t.ok(boundedPattern('\\S+@\\S+x', 60), 'a smaller bound helps')
  t.ok(boundedPattern('\\w+@\\w+\\.\\w+', 256), 'as do parts that differ')
  t.end()
})

t.test('the worst text takes time linear in its length', t => {
  const { expression } = boundedPattern('\\S+@\\S+x', 60)
  for (const character of ['@', 'a']) {
    t.same(character.repeat(1000).match(expression), null)
    scalesWith(t, character, {
      from: 2500,
      input: size => character.repeat(size),
      run: text => expression.test(text)
    })
  }
  t.end()
})
