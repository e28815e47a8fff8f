import { stagesReport } from '../../lib/usage/stages-report.ts'
import { storeTest } from '../support/stores.ts'
import { usageRowOf } from '../support/usage.ts'

storeTest('calls, findings and time are added up by guard', async (t, open) => {
  const store = await open()
  const notes = (...list: object[]): string => JSON.stringify(list)
  const inspected = (stage: string, tookMs: number, point = 'request'): object => ({
    stage,
    point,
    action: 'inspected',
    count: 1,
    took_ms: tookMs
  })
  await store.insertUsage([
    usageRowOf(1, {
      findings: notes(
        inspected('a', 1),
        { stage: 'a', point: 'request', action: 'mask', count: 3 },
        inspected('a', 2, 'answer'),
        inspected('b', 50)
      )
    }),
    usageRowOf(2, {
      findings: notes(inspected('a', 5), { stage: 'a', point: 'request', action: 'unavailable', count: 1 })
    }),
    usageRowOf(3),
    usageRowOf(4, { at_ms: 1000, findings: notes(inspected('a', 1)) })
  ])
  t.same(Object.fromEntries(await stagesReport(store.query, { fromMs: 2000 })), {
    a: { calls: 2, callsWithFindings: 1, findings: 3, unavailable: 1, tookMs: { p50: 5, p95: 5 } },
    b: { calls: 1, callsWithFindings: 0, findings: 0, unavailable: 0, tookMs: { p50: 50, p95: 50 } }
  })
  t.equal((await stagesReport(store.query, { fromMs: 2000, projects: ['other'] })).size, 0)
})
