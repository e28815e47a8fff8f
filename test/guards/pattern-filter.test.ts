import fc from 'fast-check'
import t from 'tap'
import { GuardFindings } from '../../lib/core/guard-findings.ts'
import { StreamFilter } from '../../lib/guards/stream-filter.ts'
import { PatternFilter, builtInPattern, type PatternRule } from '../../lib/guards/pattern-filter.ts'
import { TextFilters } from '../../lib/guards/text-guards.ts'
import { replaceFindings } from '../../lib/guards/text-filter.ts'
import { boundedPattern } from '../../lib/text/bounded-pattern.ts'
import { holdsAsync } from '../support/property.ts'
import { routedCall } from '../support/stages.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { GuardAction } from '../../schemas/config/guards.ts'

function rule (guard: string, match: string, action: GuardAction = 'mask', label = guard): PatternRule {
  return { guard, action, label, pattern: boundedPattern(match, 4) }
}

t.test('the first match is replaced, and at the same position the first rule wins', t => {
  const findings = new GuardFindings()
  const filter = new PatternFilter(
    [rule('one', 'bc'), rule('two', 'abc'), rule('three', 'ab')],
    'answer',
    findings
  )
  t.equal(replaceFindings(filter, 'abcbc ab'), '[two][one] [three]')
  t.same(
    findings.found.map(({ durationMs: _, ...finding }) => finding),
    [
      { guard: 'two', point: 'answer', action: 'mask', count: 1 },
      { guard: 'one', point: 'answer', action: 'mask', count: 1 },
      { guard: 'three', point: 'answer', action: 'mask', count: 1 }
    ]
  )
  t.equal(filter.reach, 4)
  t.end()
})

t.test('a report does not affect other rules, and a refusal names the guard and the pattern', t => {
  const findings = new GuardFindings()
  t.equal(
    replaceFindings(
      new PatternFilter([rule('count', 'ab', 'report'), rule('mask', 'abc')], 'request', findings),
      'abc ab'
    ),
    '[mask] ab'
  )
  t.match(findings.found, [
    { guard: 'count', action: 'report', count: 2 },
    { guard: 'mask', count: 1 }
  ])
  t.throws(
    () =>
      replaceFindings(
        new PatternFilter([rule('no', 'ab', 'refuse', 'two_letters')], 'request', findings),
        'xab'
      ),
    {
      code: 'content_refused',
      message: 'The guard `no` refused this call: it contains two_letters.'
    }
  )
  t.throws(
    () => replaceFindings(new PatternFilter([rule('mask', 'ab')], 'request', findings), 'xab', true),
    { code: 'content_refused' }
  )
  t.equal(
    replaceFindings(new PatternFilter([rule('count', 'ab', 'report')], 'request', findings), 'ab', true),
    'ab',
    'a report is possible anywhere'
  )
  t.end()
})

t.test('built-in patterns are found by name', t => {
  t.ok(builtInPattern('iban'))
  t.equal(builtInPattern('toString'), undefined)
  t.end()
})

const letters = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' '), maxLength: 5 })

t.test('a stream split at any position is masked like the complete text', async t => {
  const rules = [
    rule('words', '\\ba+b\\b'),
    rule('numbers', '1{2,}'),
    rule('mixed', '[ab]1', 'report'),
    rule('any', 'b.b')
  ]
  await holdsAsync(
    t,
    fc.asyncProperty(fc.array(letters, { maxLength: 40, size: 'max' }), async pieces => {
      const [complete, streamed] = [new GuardFindings(), new GuardFindings()]
      const expected = replaceFindings(new PatternFilter(rules, 'answer', complete), pieces.join(''))
      const filter = new PatternFilter(rules, 'answer', streamed)
      const held = new StreamFilter(
        new TextFilters({ kind: 'filters', filter: () => filter }, routedCall({}), 'answer'),
        undefined
      )
      const out: ChatEvent[] = []
      for (const text of pieces) held.push([{ type: 'text-delta', choice: 0, text }], out)
      await held.end(out)
      const masks = ({ list }: GuardFindings): unknown =>
        list
          .filter(({ action }) => action === 'mask')
          .map(({ guard, count }) => `${guard} ${count}`)
          .toSorted()
      return (
        out.map(event => ('text' in event ? event.text : '')).join('') === expected &&
        JSON.stringify(masks(complete)) === JSON.stringify(masks(streamed))
      )
    }),
    { numRuns: 1000 }
  )
})
