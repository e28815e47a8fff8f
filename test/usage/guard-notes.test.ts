import t from 'tap'
import { GuardFindings } from '../../lib/core/guard-findings.ts'
import { inspectionsOf, printNotes, readNotes } from '../../lib/usage/guard-notes.ts'

t.test('guard results are printed without empty inspections, and read back', async t => {
  t.equal(printNotes(new GuardFindings()), null)
  const findings = new GuardFindings()
  findings.noteInspection('cards', 'request', 0.1234567)
  findings.noteInspection('cards', 'request', 1)
  findings.note('cards', 'request', 'mask', 2)
  findings.noteInspection('cards', 'answer', 0.5)
  findings.noteInspection('judge', 'answer', 100)
  findings.note('judge', 'answer', 'unavailable')
  const text = printNotes(findings)
  t.same(readNotes(text), [
    { stage: 'cards', point: 'request', action: 'inspected', count: 2, took_ms: 1.123 },
    { stage: 'cards', point: 'request', action: 'mask', count: 2 },
    { stage: 'cards', point: 'answer', action: 'inspected', count: 1, took_ms: 0.5 },
    { stage: 'judge', point: 'answer', action: 'inspected', count: 1, took_ms: 100 },
    { stage: 'judge', point: 'answer', action: 'unavailable', count: 1 }
  ])
  t.same(inspectionsOf(readNotes(text)), [
    { stage: 'cards', point: 'request', tookMs: 1.123, findings: [{ action: 'mask', count: 2 }] },
    { stage: 'cards', point: 'answer', tookMs: 0.5, findings: [] },
    { stage: 'judge', point: 'answer', tookMs: 100, findings: [{ action: 'unavailable', count: 1 }] }
  ])
  t.same(inspectionsOf(readNotes(null)), [])
})

t.test('inspections of an earlier version are not counted as findings', async t => {
  const text = '[{"stage":"pii","point":"request","action":"look","count":2,"took_ms":1.5}]'
  t.same(inspectionsOf(readNotes(text)), [{ stage: 'pii', point: 'request', tookMs: 1.5, findings: [] }])
})

t.test('the notes of a call are limited', async t => {
  const findings = new GuardFindings()
  for (let stage = 0; stage < 500; stage++) findings.noteInspection(`stage-${stage}`, 'request', 1)
  t.equal(readNotes(printNotes(findings)).length, 100)
})
