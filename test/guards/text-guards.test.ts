import t from 'tap'
import { TextFilters } from '../../lib/guards/text-guards.ts'
import type { GuardPoint } from '../../schemas/config/guards.ts'
import { fixed, text, toolCall, toolResult } from '../../lib/json/place-table.ts'
import { routedCall } from '../support/stages.ts'
import { wordFilter } from '../support/word-stages.ts'

t.test('each place is inspected by the guards of its points', t => {
  const wanted: Array<readonly GuardPoint[]> = []
  const stages = { kind: 'filters' as const, filter: (_call: unknown, points: readonly GuardPoint[]) => {
    wanted.push(points)
    return points.includes('tool_result') ? wordFilter('ab') : undefined
  } }
  const filters = new TextFilters(stages, routedCall({}), 'answer')
  t.same(wanted, [['answer'], ['answer', 'tool_call'], ['answer', 'tool_result']])
  t.notOk(filters.isEmpty)
  t.equal(filters.replace('ab', text), 'ab')
  t.equal(filters.replace('ab', toolCall), 'ab')
  t.equal(filters.replace('ab', toolResult), '(an island)')
  t.equal(filters.replace('ab', fixed), 'ab', 'which no guard inspects')
  t.ok(new TextFilters({ kind: 'filters', filter: () => undefined }, routedCall({}), 'request').isEmpty)
  t.end()
})
