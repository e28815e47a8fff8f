import t from 'tap'
import { GuardFindings } from '../../lib/core/guard-findings.ts'

t.test('findings and durations of one guard at one point are summed', t => {
  const findings = new GuardFindings()
  findings.note('a', 'request', 'mask', 2)
  findings.note('a', 'request', 'mask')
  findings.note('a', 'answer', 'refuse')
  findings.noteInspection('a', 'request', 1.5)
  findings.noteInspection('b', 'request', 3)
  findings.noteInspection('b', 'request', 4)
  const times = findings.list.map(({ startedAtMs = 0, endedAtMs = 0 }) => endedAtMs - startedAtMs)
  t.ok(
    (times[2] ?? 0) >= 1.49 && (times[3] ?? 0) > 2.9,
    'from the start of the first check to the end of the last'
  )
  t.strictSame(times.slice(0, 2), [0, 0])
  t.match(findings.list, [
    { guard: 'a', point: 'request', action: 'mask', count: 3, durationMs: 0 },
    { guard: 'a', point: 'answer', action: 'refuse', count: 1, durationMs: 0 },
    { guard: 'a', point: 'request', action: 'inspected', count: 1, durationMs: 1.5 },
    { guard: 'b', point: 'request', action: 'inspected', count: 2, durationMs: 7 }
  ])
  t.same(findings.found, [
    { guard: 'a', point: 'request', action: 'mask', count: 3, durationMs: 1.5 },
    { guard: 'a', point: 'answer', action: 'refuse', count: 1, durationMs: 0 }
  ])
  t.end()
})
