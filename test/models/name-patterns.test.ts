import t from 'tap'
import { fillPattern, isPattern, patternFinder, wildcardsIn } from '../../lib/models/name-patterns.ts'

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

t.test('a target gets what the wildcards of a name matched', async t => {
  t.same(wildcardsIn('a*b*', 'a1b2'), ['1', '2'])
  t.same(wildcardsIn('a', 'a'), [])
  t.equal(wildcardsIn('a', 'b'), undefined)
  const rows: ReadonlyArray<readonly [pattern: string, target: string, name: string, filled: string]> = [
    ['my-*', 'openai/gpt-*', 'my-x', 'openai/gpt-x'],
    ['*', 'openai/*', 'gpt-x', 'openai/gpt-x'],
    ['*', 'openai/*', 'openai/gpt-x', 'openai/gpt-x'],
    ['*/*', 'a/*-*', 'x/y', 'a/x-y'],
    ['a-*-*', 'b/*', 'a-1-2', 'b/1'],
    ['my-*', '*', 'my-openai/x', 'openai/x'],
    ['my-*', 'm*', 'my-x', 'mx']
  ]
  for (const [pattern, target, name, filled] of rows) {
    t.equal(fillPattern(pattern, target, name), filled, name)
  }
})
