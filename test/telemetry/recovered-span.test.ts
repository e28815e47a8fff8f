import t from 'tap'
import { recoveredSpan } from '../../lib/telemetry/recovered-span.ts'
import { usageRowOf } from '../support/usage.ts'

const trace = { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), parent_id: 'c'.repeat(16), sampled: true }
const steps = (parts: object = {}): string => JSON.stringify({ trace: { ...trace, ...parts } })

t.test('an interrupted call has the span that servers got as parent', async t => {
  const row = usageRowOf(1, {
    outcome: 'interrupted',
    at_ms: 1000,
    duration_ms: 20,
    model: 'one/a',
    end_user: 'ann',
    session: 's-1',
    cost_nano_usd: 5e8,
    estimated: 1,
    steps: steps()
  })
  t.match(recoveredSpan(row), {
    trace,
    startedAtMs: 1000,
    endedAt: 1020,
    attributes: {
      'headgate.recovered': true,
      'user.id': 'ann',
      'session.id': 's-1',
      'gen_ai.conversation.id': 's-1',
      'headgate.outcome': 'interrupted',
      'headgate.model': 'one/a',
      'headgate.cost_usd': 0.5,
      'headgate.usage.estimated': true
    }
  })
})

t.test('a call that ended has no recovered span, nor has one that was unsampled or had no trace', async t => {
  t.equal(recoveredSpan(usageRowOf(1, { outcome: 'ok', steps: steps() })), undefined)
  t.equal(
    recoveredSpan(usageRowOf(1, { outcome: 'interrupted', steps: steps({ sampled: false }) })),
    undefined
  )
  t.equal(recoveredSpan(usageRowOf(1, { outcome: 'interrupted', steps: null })), undefined)
})
