/**
 * Counts ended calls. Each metric is one row of `callMetrics` or `ownLabelMetrics`.
 *
 * Labels are bounded: unknown model names count as `other`, and so do new names beyond the maximum.
 */

import { Histogram, type Exemplar } from '../core/histogram.ts'
import { rankOf } from '../core/explain-route.ts'
import { operationOf, providerNameOf, requestUsage, type KindOf } from './gen-ai.ts'
import type { Family, Labels, Sample } from './metric-families.ts'
import type { Call } from '../core/call.ts'
import type { CallRecord, Outcome, RecordedAttempt } from '../core/record.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Maximum label sets with model names: 38,000 lines of text, which take 50 ms to print. */
const maxSeries = 1000
const other = 'other'
const modelAttribute = 'gen_ai.request.model'

/** The usage of a call, from its usage row. */
type Row = Pick<UsageRow, 'prompt_tokens' | 'completion_tokens' | 'cached_tokens' | 'cost_nano_usd'>

type CallLabels = Readonly<Record<'endpoint' | 'model' | 'provider', string>> & { readonly outcome: Outcome }

/** A call that has ended. */
interface MeasuredCall {
  readonly record: CallRecord
  readonly labels: CallLabels
  readonly seconds: number
  readonly row: Row | undefined
  readonly operations: readonly Operation[]
  /** Returns the label for a model. */
  readonly modelOf: (modelId: string) => string
}

/** A provider request, with labels of OpenTelemetry's conventions. */
interface Operation {
  readonly attempt: RecordedAttempt
  readonly labels: Labels
  readonly seconds: number
  /** Seconds until the first output of a streamed answer. */
  readonly firstOutputSeconds: number | undefined
}

type Span = Pick<Exemplar, 'traceId' | 'spanId'>

/** Adds to a counter, or records a value in a histogram. @param span the span of a sampled trace */
type Add = (value: number, labels?: Labels, span?: Span) => void

interface CallMetric {
  readonly name: string
  readonly help: string
  /** Only for a name with dots. */
  readonly unit?: Family['unit']
  /** Bucket bounds of a histogram. Absent for a counter. */
  readonly bounds?: readonly number[]
  /** Adds the values of one call. */
  readonly count: (call: MeasuredCall, add: Add) => void
}

/** Counted by endpoint, model, provider and outcome of the call, plus the labels that a row adds. */
const callMetrics: readonly CallMetric[] = [
  {
    name: 'headgate_calls_total',
    help: 'Calls that have ended; status 499 when the client disconnected.',
    count: ({ record: { end: { status = 0 } } }, add) => add(1, { status: String(status) })
  },
  {
    name: 'headgate_call_duration_seconds',
    help: 'Time from the start of a call to the last byte.',
    bounds: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
    count: ({ seconds, record }, add) => add(seconds, {}, sentSpan(record, record.trace?.spanId))
  },
  {
    name: 'headgate_first_byte_seconds',
    help: 'Time from the start of a call to the first output of a streamed answer.',
    bounds: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    count: ({ record: { times: { firstByteMs } } }, add) => {
      if (firstByteMs !== undefined) add(firstByteMs / 1000)
    }
  },
  {
    name: 'headgate_tokens_total',
    help: 'Tokens, including estimates.',
    count: ofUsage(({ row }, add) => {
      add(row?.prompt_tokens ?? 0, { direction: 'input' })
      add(row?.completion_tokens ?? 0, { direction: 'output' })
    })
  },
  {
    name: 'headgate_cached_tokens_total',
    help: 'Input tokens read from a cache.',
    count: ofUsage(({ row }, add) => add(row?.cached_tokens ?? 0))
  },
  {
    name: 'headgate_cost_usd_total',
    help: 'Cost of calls in US dollars; models without a price count as zero.',
    count: ofUsage(({ row, record: { cost } }, add) => {
      if (row === undefined) return
      // A deferred answer counts when it is fetched, because counters cannot decrease.
      const { replaceableNanoUsd = 0, refundedNanoUsd = 0, paidNanoUsd = 0 } = cost
      const nanoUsd = (row.cost_nano_usd ?? 0) - replaceableNanoUsd + refundedNanoUsd + paidNanoUsd
      add(Math.max(0, nanoUsd) / 1e9)
    })
  },
  {
    name: 'headgate_retries_total',
    help: 'Repeated attempts at a model that had just failed, by the model tried last.',
    count: ofModel(({ record: { routing: { retries = 0 } } }, add) => add(retries))
  },
  {
    name: 'headgate_hedges_total',
    help: 'Requests started because another one was slow, by the model that produced the answer.',
    count: ofModel(({ record: { routing: { hedges = 0 } } }, add) => add(hedges))
  },
  {
    name: 'headgate_fallbacks_total',
    help: 'Calls that another model than the first choice completed.',
    count: ofModel(({ record: { routing } }, add) => {
      add(Number(routing.chosen !== undefined && rankOf(routing.chosen, routing) > 0))
    })
  }
]

/** Each row chooses its labels. */
const ownLabelMetrics: readonly CallMetric[] = [
  {
    name: 'headgate_overhead_seconds',
    help: 'Time the gateway itself takes until the head of the answer.',
    bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    count: ({ record: { endpoint, times: { overheadMs } } }, add) => {
      if (overheadMs !== undefined) add(overheadMs / 1000, { endpoint })
    }
  },
  {
    name: 'headgate_attempts_total',
    help:
      'Attempts at models, by outcome: ok, or why the answer was not used. An attempt that is split into several requests counts once.',
    count: ({ record: { routing: { attempts = [] } }, modelOf }, add) => {
      for (const { route, reason = 'ok' } of attempts) {
        const outcome = reason.replaceAll(' ', '_')
        add(1, { model: modelOf(route.modelId), provider: route.providerId, outcome })
      }
    }
  },
  {
    name: 'headgate_failed_attempts_total',
    help: 'Failed attempts and skipped routes, by reason.',
    count: ({ record: { routing: { unusedRoutes = [] } }, modelOf }, add) => {
      for (const { route, reason } of unusedRoutes) {
        const labels = { model: modelOf(route.modelId), provider: route.providerId }
        add(1, { ...labels, reason: reason.replaceAll(' ', '_') })
      }
    }
  },
  {
    name: 'headgate_limits_refused_total',
    help: 'Calls refused because of a limit.',
    count: ({ record: { limits: { refusedBy } } }, add) => {
      if (refusedBy !== undefined) add(1, { limit: refusedBy })
    }
  },
  {
    name: 'headgate_unauthorized_total',
    help: 'Calls without a valid key, or with a key that may not make the call.',
    count: ({ record: { endpoint, end: { errorCode } } }, add) => {
      if (errorCode !== undefined && unauthorized.has(errorCode)) add(1, { endpoint, reason: errorCode })
    }
  },
  {
    name: 'headgate_stage_findings_total',
    help: 'Findings of guards in the texts of calls.',
    count: ({ record: { guards: { findings } } }, add) => {
      for (const { count, guard, point, action } of findings?.found ?? []) {
        add(count, { stage: guard, point, action })
      }
    }
  },
  {
    name: 'headgate_stage_inspections_total',
    help: 'Number of times that guards inspected texts of calls.',
    count: ({ record: { guards: { findings } } }, add) => {
      for (const { guard, point, action, count } of findings?.list ?? []) {
        if (action === 'inspected') add(count, { stage: guard, point })
      }
    }
  },
  {
    name: 'headgate_stage_seconds_total',
    help: 'Time that guards took to inspect texts of calls.',
    count: ({ record: { guards: { findings } } }, add) => {
      for (const { guard, point, action, durationMs } of findings?.list ?? []) {
        if (action === 'inspected') add(durationMs / 1000, { stage: guard, point })
      }
    }
  },
  {
    name: 'headgate_answer_cache_calls_total',
    help: 'Lookups in the cache of answers, by result: hit, miss or bypass.',
    count: ({ record: { endpoint, routing: { cache } } }, add) => {
      if (cache !== undefined) add(1, { endpoint, result: cache })
    }
  },
  {
    name: 'gen_ai.client.operation.duration',
    help: 'Time of a request to a provider.',
    unit: 's',
    // Bounds from OpenTelemetry's conventions, here and below.
    bounds: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
    count: ({ record, operations }, add) => {
      for (const { attempt: { reason, span }, labels, seconds } of operations) {
        const error = reason === undefined ? {} : { 'error.type': reason }
        add(seconds, { ...labels, ...error }, sentSpan(record, span?.spanId))
      }
    }
  },
  {
    name: 'gen_ai.client.token.usage',
    help: 'Tokens of a request to a provider and of its answer, where it reports them.',
    unit: '{token}',
    bounds: [
      1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864
    ],
    count: ({ record, operations }, add) => {
      for (const { attempt, labels } of operations) {
        const usage = requestUsage(record, attempt)
        if (usage === undefined) continue
        add(usage.promptTokens, { ...labels, 'gen_ai.token.type': 'input' })
        add(usage.completionTokens, { ...labels, 'gen_ai.token.type': 'output' })
      }
    }
  },
  {
    name: 'gen_ai.client.operation.time_to_first_chunk',
    help: 'Time from a request to a provider to the first output of a streamed answer.',
    unit: 's',
    bounds: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    count: ({ operations }, add) => {
      for (const { labels, firstOutputSeconds } of operations) {
        if (firstOutputSeconds !== undefined) add(firstOutputSeconds, labels)
      }
    }
  }
]

/** Error codes of callers who may not make the call. */
const unauthorized: ReadonlySet<string> = new Set<ErrorCode>(['invalid_api_key', 'insufficient_permissions'])

/** Skips calls without a model, which would only add zeros. */
function ofModel (count: CallMetric['count']): CallMetric['count'] {
  return (call, add) => { if (call.labels.model !== '') count(call, add) }
}

/** Like `ofModel`, and what guards have used for calls that were sent to no model. */
function ofUsage (count: CallMetric['count']): CallMetric['count'] {
  return (call, add) => {
    const isOfModel = call.labels.model !== ''
    count(call, (value, labels) => { if (isOfModel || value > 0) add(value, labels) })
  }
}

/** Returns a span of the call; `undefined` if the trace is not exported. */
function sentSpan ({ trace }: CallRecord, spanId: string | undefined): Span | undefined {
  return trace?.isSampled === true && spanId !== undefined ? { traceId: trace.traceId, spanId } : undefined
}

export class CallMetrics {
  readonly #isKnown: (modelId: string) => boolean
  readonly #kindOf: KindOf
  readonly #maxSeries: number
  readonly #byCall = new Map<string, { readonly labels: CallLabels, readonly series: readonly Series[] }>()
  readonly #others: readonly Series[]

  /**
   * @param isKnown returns true for the full id of a known model, not just a name made up by a caller
   * @param kindOf returns the kind of a provider
   */
  constructor (isKnown: (modelId: string) => boolean, kindOf: KindOf, limit = maxSeries) {
    this.#isKnown = isKnown
    this.#kindOf = kindOf
    this.#maxSeries = limit
    this.#others = ownLabelMetrics.map(metric => new Series(metric, limit))
  }

  observe ({ record, receivedAtMs }: Pick<Call, 'record' | 'receivedAtMs'>, row?: Row): void {
    const {
      endpoint,
      routing: { modelId, providerId: provider = '', attempts = [] },
      end: { outcome = 'ok' }
    } = record
    const nowMs = performance.now()
    const modelOf = (id: string): string => this.#isKnown(id) ? id : other
    const model = modelId === undefined ? '' : modelOf(modelId)
    const { labels, series } = this.#seriesOf({ endpoint, model, provider, outcome })
    const call: MeasuredCall = {
      record,
      labels,
      seconds: (nowMs - receivedAtMs) / 1000,
      row,
      operations: attempts.map(attempt => this.#operation(record, attempt, nowMs)),
      modelOf
    }
    for (const one of series) one.count(call)
    for (const one of this.#others) one.count(call)
  }

  families (): Family[] {
    const calls = [...this.#byCall.values()]
    return [
      ...callMetrics.map((metric, index) =>
        familyOf(metric, calls.flatMap(({ labels, series }) => series[index]?.samples(labels) ?? []))
      ),
      ...ownLabelMetrics.map((metric, index) => familyOf(metric, this.#others[index]?.samples() ?? []))
    ]
  }

  #operation (record: CallRecord, attempt: RecordedAttempt, nowMs: number): Operation {
    const { route, reason, startedAtMs, outcomeAtMs } = attempt
    const isAnswer = reason === undefined
    const endedAtMs = (isAnswer ? attempt.endedAtMs : outcomeAtMs) ?? nowMs
    const hasFirst = record.request.isStreamed === true && isAnswer && outcomeAtMs !== undefined
    return {
      attempt,
      labels: {
        'gen_ai.operation.name': operationOf(record.endpoint),
        'gen_ai.provider.name': providerNameOf(route.providerId, this.#kindOf),
        [modelAttribute]: this.#isKnown(route.modelId) ? route.model : other
      },
      seconds: (endedAtMs - startedAtMs) / 1000,
      firstOutputSeconds: hasFirst ? (outcomeAtMs - startedAtMs) / 1000 : undefined
    }
  }

  #seriesOf (labels: CallLabels): { readonly labels: CallLabels, readonly series: readonly Series[] } {
    const key = keyOf(labels)
    let found = this.#byCall.get(key)
    if (found === undefined) {
      if (this.#byCall.size >= this.#maxSeries && labels.model !== other) {
        return this.#seriesOf({ ...labels, model: other, provider: other })
      }
      this.#byCall.set(key, found = { labels, series: callMetrics.map(metric => new Series(metric)) })
    }
    return found
  }
}

/** The values of one metric, by label set. */
class Series {
  readonly #metric: CallMetric
  readonly #maxSeries: number
  readonly #totals = new Map<string, { readonly labels: Labels, readonly total: Counter | Histogram }>()

  /** @param limit beyond it, new model names count as `other` */
  constructor (metric: CallMetric, limit = Infinity) {
    this.#metric = metric
    this.#maxSeries = limit
  }

  count (call: MeasuredCall): void {
    this.#metric.count(call, this.#add)
  }

  readonly #add: Add = (value, labels = {}, span) => {
    const key = keyOf(labels)
    let found = this.#totals.get(key)
    if (found === undefined) {
      const model = labels['model'] ?? labels[modelAttribute] ?? other
      if (this.#totals.size >= this.#maxSeries && model !== other) {
        return this.#add(value, withoutNames(labels), span)
      }
      const { bounds } = this.#metric
      found = { labels, total: bounds === undefined ? new Counter() : new Histogram(bounds) }
      this.#totals.set(key, found)
    }
    found.total.observe(value, span)
  }

  /** @param common labels added to all samples */
  samples (common?: Labels): Sample[] {
    return [...this.#totals.values()].map(({ labels, total }) => ({
      labels: { ...common, ...labels },
      value: total.value
    }))
  }
}

class Counter {
  value = 0

  observe (amount: number): void {
    this.value += amount
  }
}

/** Label names are left out: they are the same for all samples of a metric. */
function keyOf (labels: Labels): string {
  return Object.values(labels).join('\n')
}

function withoutNames (labels: Labels): Labels {
  return modelAttribute in labels
    ? { ...labels, [modelAttribute]: other }
    : { ...labels, model: other, provider: other }
}

function familyOf ({ name, help, unit, bounds }: CallMetric, samples: Sample[]): Family {
  return {
    name,
    help,
    type: bounds === undefined ? 'counter' : 'histogram',
    ...unit !== undefined && { unit },
    samples
  }
}
