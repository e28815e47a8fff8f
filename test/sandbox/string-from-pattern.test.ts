import t from 'tap'
import { stringFromPattern } from '../../lib/sandbox/string-from-pattern.ts'

t.test('strings are made from patterns, or not at all', t => {
  for (const pattern of ['', 'abc', '^a.c$', '[\\d_-]{2,5}', '(?:x|y){3}', '(?<year>\\d{4})-?', '\\S\\s\\W\\D\\t', 'a|b|c', '[^ -y]', '\\/\\.', 'a{3}?', '[a-]']) {
    t.match(stringFromPattern(pattern), new RegExp(`^(?:${pattern})$`, 'u'), pattern)
    t.match(stringFromPattern(pattern, 2), new RegExp(pattern, 'u'), `${pattern}, stretched`)
  }
  for (const pattern of ['(?=a)b', '\\bx', '(a)\\1', '*', '(', '[', 'a{99999}', ')', '\\p{L}', '[^ -~]']) {
    t.equal(stringFromPattern(pattern), undefined, pattern)
  }
  t.end()
})
