import t from 'tap'
import { CallRecord, type RecordedAttempt } from '../../lib/core/record.ts'
import { noteUsage } from '../../lib/core/usage-facts.ts'
import { CallMetrics } from '../../lib/telemetry/call-metrics.ts'
import { printFamilies } from '../../lib/telemetry/metric-families.ts'
import type { Route } from '../../lib/core/route.ts'
import type { ProviderKind } from '../../schemas/providers.ts'
import { route } from '../support/routes.ts'
import { fillRecord, type RecordParts } from '../support/fill-record.ts'

const kindOf = (id: string): ProviderKind | undefined => id === 'one' ? 'xai' : undefined

type Row = Parameters<CallMetrics['observe']>[1]

/** Lists the series that are not histograms, without those that are 0. */
function linesOf (metrics: CallMetrics): string[] {
  return printFamilies(metrics.families())
    .split('\n')
    .filter(line => line !== '' && !/^#|^gen_ai_|_seconds_| 0$/.test(line))
}

function observed (
  parts: RecordParts,
  row?: Row,
  isKnown = (_id: string): boolean => true
): string[] {
  const metrics = new CallMetrics(isKnown, kindOf)
  metrics.observe(
    { record: fillRecord(new CallRecord('chat'), parts), receivedAtMs: performance.now() },
    row
  )
  return linesOf(metrics)
}

const sentTo = (to: Route, reason?: string): RecordedAttempt => ({
  route: to,
  startedAtMs: 1,
  outcomeAtMs: 2,
  endedAtMs: 2,
  reason,
  status: undefined
})

t.test('a call counts with its usage, its attempts and its fallback', async t => {
  const [a, b] = [route('one/a'), route('two/b')]
  const lines = observed(
    {
      routing: {
        modelId: 'two/b',
        providerId: 'two',
        requestCount: 3,
        attempts: [sentTo(a, 'upstream_error'), sentTo(a, 'upstream_error'), sentTo(b)],
        retries: 1,
        hedges: 1,
        routes: [a, b],
        chosen: b,
        unusedRoutes: [{ route: a, reason: 'circuit open' }]
      },
      end: { outcome: 'ok', status: 200 },
      limits: { refusedBy: 'tokens' }
    },
    { prompt_tokens: 3, completion_tokens: 4, cached_tokens: 1, cost_nano_usd: 2e9 }
  )
  const all = 'endpoint="chat",model="two/b",provider="two",outcome="ok"'
  t.strictSame(lines, [
    `headgate_calls_total{${all},status="200"} 1`,
    `headgate_tokens_total{${all},direction="input"} 3`,
    `headgate_tokens_total{${all},direction="output"} 4`,
    `headgate_cached_tokens_total{${all}} 1`,
    `headgate_cost_usd_total{${all}} 2`,
    `headgate_retries_total{${all}} 1`,
    `headgate_hedges_total{${all}} 1`,
    `headgate_fallbacks_total{${all}} 1`,
    'headgate_attempts_total{model="one/a",provider="one",outcome="upstream_error"} 2',
    'headgate_attempts_total{model="two/b",provider="two",outcome="ok"} 1',
    'headgate_failed_attempts_total{model="one/a",provider="one",reason="circuit_open"} 1',
    'headgate_limits_refused_total{limit="tokens"} 1'
  ])
})

t.test('a capped answer of the first choice is no fallback', async t => {
  const first = route('one/a')
  const routes = [first, route('two/b')] as const
  const routing = { modelId: 'one/a', providerId: 'one', routes, chosen: { ...first } }
  t.notMatch(observed({ routing, end: { outcome: 'ok', status: 200 } }).join(), 'headgate_fallbacks_total')
})

t.test('a model name made up by the caller counts as "other"', async t => {
  t.match(
    observed({ routing: { modelId: 'one/made-up', providerId: 'one' } }, undefined, () => false).join(),
    'model="other"'
  )
})

t.test('a call that never reached a model has no model metrics', async t => {
  t.strictSame(observed({ end: { outcome: 'error', status: 401, errorCode: 'invalid_api_key' } }), [
    'headgate_calls_total{endpoint="chat",model="",provider="",outcome="error",status="401"} 1',
    'headgate_unauthorized_total{endpoint="chat",reason="invalid_api_key"} 1'
  ])
})

t.test('what guards used for a call that reached no model counts', async t => {
  const row = { prompt_tokens: 30, completion_tokens: 1, cached_tokens: 0, cost_nano_usd: 2_000_000_000 }
  const all = 'endpoint="chat",model="",provider="",outcome="error"'
  t.same(observed({ end: { outcome: 'error', status: 400 } }, row), [
    `headgate_calls_total{${all},status="400"} 1`,
    `headgate_tokens_total{${all},direction="input"} 30`,
    `headgate_tokens_total{${all},direction="output"} 1`,
    `headgate_cost_usd_total{${all}} 2`
  ])
})

t.test('a deferred answer counts once, with what guards and failed attempts of its receipt cost', async t => {
  const metrics = new CallMetrics(() => true, kindOf)
  const routing = { modelId: 'one/a', providerId: 'one' }
  const observe = (cost: NonNullable<RecordParts['cost']>, nanoUsd: number): void => {
    const record = fillRecord(new CallRecord('chat'), { routing, cost, end: { outcome: 'ok', status: 200 } })
    const row = { prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0, cost_nano_usd: nanoUsd }
    metrics.observe({ record, receivedAtMs: performance.now() }, row)
  }
  const costOf = (): string | undefined =>
    linesOf(metrics).find(line => line.startsWith('headgate_cost_usd_total'))?.split(' ').at(-1)
  observe({ chargedNanoUsd: 5e9, replaceableNanoUsd: 4e9 }, 5e9)
  t.equal(costOf(), '1', 'the receipt')
  observe({ refundedNanoUsd: 4e9 }, -1e9)
  t.equal(costOf(), '4', 'an answer for 3 dollars')
  observe({ chargedNanoUsd: 4e9, replaceableNanoUsd: 4e9 }, 4e9)
  observe({ paidNanoUsd: 4e9 }, 0)
  t.equal(costOf(), '8', 'an answer of unknown usage costs what its receipt was charged')
})

t.test('first outputs are counted for calls with one, and overhead for calls with a head', async t => {
  const times = (parts: RecordParts): string => {
    const metrics = new CallMetrics(() => true, kindOf)
    metrics.observe({ record: fillRecord(new CallRecord('chat'), parts), receivedAtMs: performance.now() })
    return printFamilies(metrics.families())
  }
  t.match(times({ times: { firstByteMs: 20 } }), /headgate_first_byte_seconds_bucket\{.*le="0\.05"\} 1/)
  t.match(times({
    times: { overheadMs: 2 }
  }), /headgate_overhead_seconds_bucket\{endpoint="chat",le="0\.0025"\} 1/)
  t.notMatch(times({}), 'headgate_overhead_seconds_bucket')
})

t.test(
  'each provider request is an operation of the conventions, with the reported tokens',
  async t => {
    const record = new CallRecord('responses')
    noteUsage(record.usage, { promptTokens: 3, completionTokens: 4, totalTokens: 7 }, undefined)
    const requests = [
      { ...sentTo(route('one/a'), 'upstream_error'), startedAtMs: 0, outcomeAtMs: 15 },
      { ...sentTo(route('two/b')), startedAtMs: 100, outcomeAtMs: 150, endedAtMs: 2100 }
    ]
    const metrics = new CallMetrics(id => id === 'one/a', kindOf)
    metrics.observe({
      record: fillRecord(record, { routing: { attempts: requests }, request: { isStreamed: true } }),
      receivedAtMs: performance.now()
    })
    const text = printFamilies(metrics.families())
    const [failed, answered] = [
      'gen_ai_provider_name="x_ai",gen_ai_request_model="a",error_type="upstream_error"',
      'gen_ai_provider_name="two",gen_ai_request_model="other"'
    ]
    for (const line of [
      '# TYPE gen_ai_client_operation_duration_seconds histogram',
      `gen_ai_client_operation_duration_seconds_sum{gen_ai_operation_name="chat",${failed}} 0.015`,
      `gen_ai_client_operation_duration_seconds_sum{gen_ai_operation_name="chat",${answered}} 2`,
      `gen_ai_client_operation_time_to_first_chunk_seconds_sum{gen_ai_operation_name="chat",${answered}} 0.05`,
      `gen_ai_client_token_usage_bucket{gen_ai_operation_name="chat",${answered},gen_ai_token_type="input",le="4"} 1`,
      `gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",${answered},gen_ai_token_type="output"} 4`
    ]) {
      t.ok(text.includes(`${line}\n`), line)
    }
    t.notMatch(text, /first_chunk_seconds_sum\{[^}]*x_ai/, 'a request that failed has no first output')
  }
)

t.test('model names in operations are limited', async t => {
  const metrics = new CallMetrics(() => true, kindOf, 2)
  const observe = (model: string): void =>
    metrics.observe({
      record: fillRecord(new CallRecord('chat'), { routing: { attempts: [sentTo(route(model))] } }),
      receivedAtMs: performance.now()
    })
  for (const model of ['one/a', 'one/b', 'one/c', 'one/a']) observe(model)
  const counts = [
    ...printFamilies(metrics.families()).matchAll(
      /^gen_ai_client_operation_duration_seconds_count\{.*model="([^"]*)"\} (\d+)$/gm
    )
  ].map(([, model, count]) => [model, count])
  t.strictSame(counts, [
    ['a', '2'],
    ['b', '1'],
    ['other', '1']
  ])
})

t.test('durations of calls and provider requests have exemplars of sampled traces', async t => {
  const exemplarsOf = (isSampled: boolean): Record<string, unknown> => {
    const metrics = new CallMetrics(() => true, kindOf)
    const span = { spanId: 'attempt', headers: () => ({}) }
    const trace = {
      traceId: 'trace',
      spanId: 'call',
      parentId: undefined,
      state: undefined,
      isSampled,
      child: () => span
    }
    metrics.observe({
      record: fillRecord(new CallRecord('chat'), {
        trace,
        routing: { attempts: [{ ...sentTo(route('one/a')), span }] }
      }),
      receivedAtMs: performance.now()
    })
    return Object.fromEntries(
      metrics
        .families()
        .flatMap(({ name, samples }) =>
          samples.flatMap(({ value }) =>
            typeof value === 'number' || value.exemplars === undefined
              ? []
              : [[name, Object.values(value.exemplars).map(({ traceId, spanId }) => `${traceId} ${spanId}`)]]
          )
        )
    )
  }
  t.strictSame(exemplarsOf(true), {
    headgate_call_duration_seconds: ['trace call'],
    'gen_ai.client.operation.duration': ['trace attempt']
  })
  t.strictSame(exemplarsOf(false), {})
})
