import t from 'tap'
import { StageFindings } from '../../lib/core/stage-findings.ts'

t.test('findings of one stage at one point are added up, and so is the time of its looks', t => {
  const findings = new StageFindings()
  findings.note('a', 'request', 'mask', 2)
  findings.note('a', 'request', 'mask')
  findings.note('a', 'answer', 'refuse')
  findings.noteLook('a', 'request', 1.5)
  findings.noteLook('b', 'request', 3)
  findings.noteLook('b', 'request', 4)
  t.same(findings.list, [
    { stage: 'a', point: 'request', action: 'mask', count: 3, durationMs: 0 },
    { stage: 'a', point: 'answer', action: 'refuse', count: 1, durationMs: 0 },
    { stage: 'a', point: 'request', action: 'look', count: 1, durationMs: 1.5 },
    { stage: 'b', point: 'request', action: 'look', count: 2, durationMs: 7 }
  ])
  t.same(findings.found, [
    { stage: 'a', point: 'request', action: 'mask', count: 3, durationMs: 1.5 },
    { stage: 'a', point: 'answer', action: 'refuse', count: 1, durationMs: 0 }
  ])
  t.end()
})
