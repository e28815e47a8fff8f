import t from 'tap'
import { StageFindings } from '../../lib/core/stage-findings.ts'

t.test('findings of one stage at one point are added up', t => {
  const findings = new StageFindings()
  findings.note('a', 'request', 'mask')
  findings.note('a', 'request', 'mask')
  findings.note('a', 'answer', 'mask')
  findings.note('b', 'request', 'report')
  t.same(findings.list, [
    { stage: 'a', point: 'request', action: 'mask', count: 2 }, { stage: 'a', point: 'answer', action: 'mask', count: 1 }, { stage: 'b', point: 'request', action: 'report', count: 1 }
  ])
  t.end()
})
