import t from 'tap'
import { stringFromPattern } from '../../lib/sandbox/string-from-pattern.ts'

t.test('strings are generated from patterns that are supported', t => {
  for (const pattern of [
    '',
    'abc',
    '^a.c$',
    '[\\d_-]{2,5}',
    '(?:x|y){3}',
    '(?<year>\\d{4})-?',
    '\\S\\s\\W\\D\\t',
    'a|b|c',
    '[^ -y]',
    '\\/\\.',
    'a{3}?',
    '[a-]',
    '\\bx',
    '\\w+@[^a]'
  ]) {
    t.match(stringFromPattern(pattern), new RegExp(`^(?:${pattern})$`, 'u'), pattern)
    t.match(stringFromPattern(pattern, 2), new RegExp(pattern, 'u'), `${pattern}, stretched`)
  }
  for (const pattern of ['(?=a)b', '(a)\\1', '*', '(', '[', 'a{99999}', ')', '\\p{L}', '[^ -~]']) {
    t.equal(stringFromPattern(pattern), undefined, pattern)
  }
  t.end()
})

t.test('nested groups and string lengths are limited', async t => {
  const nested = (depth: number): string => '('.repeat(depth) + 'b' + ')'.repeat(depth)
  t.equal(stringFromPattern(nested(100)), 'b')
  t.equal(stringFromPattern(nested(101)), undefined)
  t.equal(stringFromPattern(nested(100_000)), undefined)
  t.equal(stringFromPattern('(a{100}){100}')?.length, 10_000)
  t.equal(stringFromPattern('(a{100}){101}'), undefined)
  t.equal(stringFromPattern('a{9999}a{9999}'), undefined)
})
