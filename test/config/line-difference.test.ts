import t from 'tap'
import { lineDifference } from '../../lib/config/line-difference.ts'

const shown = (before: string, after: string): string[] =>
  lineDifference(before, after).map(
    ({ kind, text }) => `${{ same: ' ', added: '+', removed: '-' }[kind]}${text}`
  )

t.test('unchanged lines are found between changed ones', async t => {
  t.same(shown('a\nb\nc\nd', 'a\nx\nc\ny\nd'), [' a', '-b', '+x', ' c', '+y', ' d'])
  t.same(shown('', 'a'), ['-', '+a'])
  t.same(shown('a\nb', 'a\nb'), [' a', ' b'])
  t.same(shown('a\na', 'a'), [' a', '-a'])
})

t.test('very long texts are compared as a single block', async t => {
  const lines = '\n'.repeat(500_000)
  t.same(lineDifference('a', lines), [{ kind: 'removed', text: 'a' }, { kind: 'added', text: lines }])
  t.same(lineDifference(lines, lines), [{ kind: 'same', text: lines }])
})

t.test('texts with little in common are replaced, without a quadratic table', async t => {
  const lines = (name: string): string =>
    Array.from({ length: 5000 }, (_, index) => `${name} ${index}`).join('\n')
  const difference = shown(`first\n${lines('a')}\nlast`, `first\n${lines('b')}\nlast`)
  t.equal(difference.length, 10_002)
  t.same(
    [difference[0], difference[1], difference[5001], difference.at(-1)],
    [' first', '-a 0', '+b 0', ' last']
  )
})
