import t from 'tap'
import { isPattern, patternFinder } from '../../lib/models/name-patterns.ts'

t.test('a wildcard matches any characters, at any position', async t => {
  const find = patternFinder(['claude-*', 'claude-haiku-*', '*-mini', 'a*b*c', 'x*x'])
  const rows: ReadonlyArray<readonly [string, string | undefined]> = [
    ['claude-opus-5', 'claude-*'],
    ['claude-', 'claude-*'],
    ['claude-haiku-5', 'claude-haiku-*'],
    ['gpt-5-mini', '*-mini'],
    ['abc', 'a*b*c'],
    ['a1b2c', 'a*b*c'],
    ['acb', undefined],
    ['xx', 'x*x'],
    ['x', undefined],
    ['anthropic/claude-opus-5', undefined],
    ['', undefined]
  ]
  for (const [name, pattern] of rows) t.equal(find(name), pattern, name)
  t.same(['claude-*', 'claude'].map(isPattern), [true, false])
})
