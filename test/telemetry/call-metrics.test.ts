import t from 'tap'
import { CallRecord, type SentRequest } from '../../lib/core/record.ts'
import { CallMetrics } from '../../lib/telemetry/call-metrics.ts'
import { printFamilies } from '../../lib/telemetry/metric-families.ts'
import type { Route } from '../../lib/core/route.ts'
import { route } from '../support/routes.ts'

type Row = Parameters<CallMetrics['observe']>[1]

/** Lists the series that are not histograms, without those that are 0. */
function linesOf (metrics: CallMetrics): string[] {
  return printFamilies(metrics.families()).split('\n').filter(line => line !== '' && !/^#|_seconds_| 0$/.test(line))
}

function observed (parts: Partial<CallRecord>, row?: Row, isKnown = (_id: string): boolean => true): string[] {
  const metrics = new CallMetrics(isKnown)
  metrics.observe({ record: Object.assign(new CallRecord('chat'), parts), receivedAtMs: performance.now() }, row)
  return linesOf(metrics)
}

const sentTo = (to: Route, reason?: string): SentRequest => ({ route: to, startedAtMs: 1, endedAtMs: 2, completedAtMs: 2, reason, status: undefined })

t.test('a call counts with what it used, its attempts and its fallback', async t => {
  const [a, b] = [route('one/a'), route('two/b')]
  const lines = observed({
    modelId: 'two/b', providerId: 'two', outcome: 'ok', status: 200, attempts: 3, requests: [sentTo(a, 'upstream_error'), sentTo(a, 'upstream_error'), sentTo(b)], retries: 1, hedges: 1, routes: [a, b], chosen: b,
    failedAttempts: [{ route: a, reason: 'circuit open' }], refusedBy: 'tokens'
  }, { prompt_tokens: 3, completion_tokens: 4, cached_tokens: 1, cost_nano_usd: 2e9 })
  const all = 'endpoint="chat",model="two/b",provider="two",outcome="ok"'
  t.strictSame(lines, [
    `headgate_calls_total{${all},status="200"} 1`,
    `headgate_tokens_total{${all},direction="input"} 3`, `headgate_tokens_total{${all},direction="output"} 4`,
    `headgate_cached_tokens_total{${all}} 1`, `headgate_cost_usd_total{${all}} 2`,
    'headgate_attempts_total{model="one/a",provider="one",outcome="upstream_error"} 2', 'headgate_attempts_total{model="two/b",provider="two",outcome="ok"} 1',
    `headgate_retries_total{${all}} 1`,
    `headgate_hedges_total{${all}} 1`, `headgate_fallbacks_total{${all}} 1`,
    'headgate_failed_attempts_total{model="one/a",provider="one",reason="circuit_open"} 1', 'headgate_limits_refused_total{limit="tokens"} 1'
  ])
})

t.test('a model that only the caller knows counts as another', async t => {
  t.match(observed({ modelId: 'one/made-up', providerId: 'one' }, undefined, () => false).join(), 'model="other"')
})

t.test('a call that never came to a model has no numbers of one', async t => {
  t.strictSame(observed({ outcome: 'error', status: 401 }), ['headgate_calls_total{endpoint="chat",model="",provider="",outcome="error",status="401"} 1'])
})

t.test('first outputs are counted of calls that had one, and overhead of calls that had a head', async t => {
  const times = (parts: Partial<CallRecord>): string => {
    const metrics = new CallMetrics(() => true)
    metrics.observe({ record: Object.assign(new CallRecord('chat'), parts), receivedAtMs: performance.now() })
    return printFamilies(metrics.families())
  }
  t.match(times({ firstByteMs: 20 }), /headgate_first_byte_seconds_bucket\{.*le="0\.05"\} 1/)
  t.match(times({ overheadMs: 2 }), /headgate_overhead_seconds_bucket\{endpoint="chat",le="0\.0025"\} 1/)
  t.notMatch(times({}), 'headgate_overhead_seconds_bucket')
})
