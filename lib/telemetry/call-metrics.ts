/**
 * Counts calls that have ended, at half a microsecond each.
 *
 * Labels are bounded: an unknown name of a model counts as `other`, and so does
 * every new one beyond the maximum.
 */

import { Histogram, type Exemplar } from '../core/histogram.ts'
import { operationOf, providerNameOf, requestUsage, type KindOf } from './gen-ai.ts'
import { printLabels, type Family, type Labels, type Sample } from './metric-families.ts'
import type { Call } from '../core/call.ts'
import type { CallRecord, Outcome, SentRequest } from '../core/record.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Bounds each of the maps below: 38,000 lines of text, which take 50 ms to print. */
const maxSeries = 1000
const other = 'other'
const modelAttribute = 'gen_ai.request.model'

const durationBounds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const firstByteBounds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** Those of OpenTelemetry's conventions. */
const operationBounds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92
]
const tokenBounds = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864
]
const firstChunkBounds = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10
]
const overheadBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

/** Selects what a call used, from its usage record. */
type Row = Pick<UsageRow, 'prompt_tokens' | 'completion_tokens' | 'cached_tokens' | 'cost_nano_usd'>

export class CallMetrics {
  readonly #isKnown: (modelId: string) => boolean
  readonly #kindOf: KindOf
  readonly #maxSeries: number
  readonly #counters = new Map<string, CallSeries>()
  readonly #overhead = new HistogramSeries(overheadBounds)
  readonly #attempts: AttemptCounters
  readonly #failedAttempts: AttemptCounters
  readonly #refusals = new CounterSeries()
  readonly #unauthorized = new CounterSeries()
  /** Stages of the configuration are few. */
  readonly #findings = new CounterSeries()
  readonly #looks = new CounterSeries()
  readonly #lookSeconds = new CounterSeries()
  readonly #lookups = new CounterSeries()
  readonly #operations: HistogramSeries
  readonly #operationTokens: HistogramSeries
  readonly #firstChunks: HistogramSeries

  /**
   * @param isKnown returns true for the full id of a model that not only a caller knows
   * @param kindOf returns the kind of a provider
   */
  constructor (isKnown: (modelId: string) => boolean, kindOf: KindOf, limit = maxSeries) {
    this.#isKnown = isKnown
    this.#kindOf = kindOf
    this.#maxSeries = limit
    this.#attempts = new AttemptCounters('outcome', limit)
    this.#failedAttempts = new AttemptCounters('reason', limit)
    this.#operations = new HistogramSeries(operationBounds, limit)
    this.#operationTokens = new HistogramSeries(tokenBounds, limit)
    this.#firstChunks = new HistogramSeries(firstChunkBounds, limit)
  }

  observe ({ record, receivedAtMs }: Pick<Call, 'record' | 'receivedAtMs'>, row?: Row): void {
    const {
      endpoint,
      modelId,
      providerId = '',
      outcome = 'ok',
      overheadMs,
      errorCode,
      requests = [],
      failedAttempts = [],
      refusedBy,
      findings,
      cache
    } = record
    const nowMs = performance.now()
    const seconds = (nowMs - receivedAtMs) / 1000
    this.#countersOf(endpoint, this.#modelOf(modelId), providerId, outcome).note(record, seconds, row)
    if (overheadMs !== undefined) this.#overhead.observe({ endpoint }, overheadMs / 1000)
    for (const request of requests) {
      const { route, reason = 'ok' } = request
      this.#attempts.note(this.#modelOf(route.modelId), route.providerId, reason)
      this.#noteOperation(record, request, nowMs)
    }
    for (const { route, reason } of failedAttempts) {
      this.#failedAttempts.note(this.#modelOf(route.modelId), route.providerId, reason)
    }
    for (const { stage, point, action, count, durationMs } of findings?.list ?? []) {
      if (action !== 'look') continue
      this.#looks.add({ stage, point }, count)
      this.#lookSeconds.add({ stage, point }, durationMs / 1000)
    }
    for (const { stage, point, action, count } of findings?.found ?? []) {
      this.#findings.add({ stage, point, action }, count)
    }
    if (cache !== undefined) this.#lookups.add({ endpoint, result: cache }, 1)
    if (refusedBy !== undefined) this.#refusals.add({ limit: refusedBy }, 1)
    if (errorCode !== undefined && unauthorized.has(errorCode)) {
      this.#unauthorized.add({ endpoint, reason: errorCode }, 1)
    }
  }

  /** Notes a request to a provider under the names of OpenTelemetry's conventions. */
  #noteOperation (record: CallRecord, request: SentRequest, nowMs: number): void {
    const { endpoint, streamed } = record
    const { route, reason, startedAtMs, endedAtMs: firstAtMs, completedAtMs = nowMs } = request
    const labels = {
      'gen_ai.operation.name': operationOf(endpoint),
      'gen_ai.provider.name': providerNameOf(route.providerId, this.#kindOf),
      [modelAttribute]: this.#isKnown(route.modelId) ? route.model : other
    }
    const isAnswer = reason === undefined
    const endedAtMs = isAnswer ? completedAtMs : firstAtMs ?? nowMs
    const error = isAnswer ? {} : { 'error.type': reason }
    this.#operations.observe(
      { ...labels, ...error },
      (endedAtMs - startedAtMs) / 1000,
      sentSpan(record, request.span?.spanId)
    )
    if (streamed === true && isAnswer && firstAtMs !== undefined) {
      this.#firstChunks.observe(labels, (firstAtMs - startedAtMs) / 1000)
    }
    const usage = requestUsage(record, request)
    if (usage === undefined) return
    this.#operationTokens.observe({ ...labels, 'gen_ai.token.type': 'input' }, usage.promptTokens)
    this.#operationTokens.observe({ ...labels, 'gen_ai.token.type': 'output' }, usage.completionTokens)
  }

  families (): Family[] {
    const families = callFamilies()
    for (const counters of this.#counters.values()) counters.addTo(families)
    families.overhead.samples.push(...this.#overhead.samples())
    this.#attempts.addTo(families.attempts)
    this.#failedAttempts.addTo(families.failedAttempts)
    families.refusals.samples.push(...this.#refusals.samples())
    families.unauthorized.samples.push(...this.#unauthorized.samples())
    families.findings.samples.push(...this.#findings.samples())
    families.looks.samples.push(...this.#looks.samples())
    families.lookSeconds.samples.push(...this.#lookSeconds.samples())
    families.lookups.samples.push(...this.#lookups.samples())
    families.operations.samples.push(...this.#operations.samples())
    families.operationTokens.samples.push(...this.#operationTokens.samples())
    families.firstChunks.samples.push(...this.#firstChunks.samples())
    return Object.values(families)
  }

  #modelOf (modelId: string | undefined): string {
    if (modelId === undefined) return ''
    return this.#isKnown(modelId) ? modelId : other
  }

  #countersOf (endpoint: string, model: string, provider: string, outcome: Outcome): CallSeries {
    const key = `${endpoint}|${model}|${provider}|${outcome}`
    let counters = this.#counters.get(key)
    if (counters !== undefined) return counters
    if (this.#counters.size >= this.#maxSeries && model !== other) {
      return this.#countersOf(endpoint, other, other, outcome)
    }
    this.#counters.set(key, (counters = new CallSeries({ endpoint, model, provider, outcome })))
    return counters
  }
}

/** Returns a span of the call; `undefined` for one that no collector gets. */
function sentSpan (
  { trace }: CallRecord,
  spanId: string | undefined
): Pick<Exemplar, 'traceId' | 'spanId'> | undefined {
  return trace?.isSampled === true && spanId !== undefined ? { traceId: trace.traceId, spanId } : undefined
}

/** Codes of errors of callers who may not make the call. */
const unauthorized: ReadonlySet<string> = new Set<ErrorCode>(['invalid_api_key', 'insufficient_permissions'])

/** Counts by labels that are few. */
class CounterSeries {
  readonly #series = new Map<string, { readonly labels: Labels, value: number }>()

  add (labels: Labels, amount: number): void {
    const key = printLabels(labels)
    const series = this.#series.get(key)
    if (series === undefined) this.#series.set(key, { labels, value: amount })
    else series.value += amount
  }

  samples (): Sample[] {
    return [...this.#series.values()].map(({ labels, value }) => ({ labels, value }))
  }
}

class HistogramSeries {
  readonly #bounds: readonly number[]
  readonly #maxSeries: number
  readonly #series = new Map<string, { readonly labels: Labels, readonly histogram: Histogram }>()

  /** @param maxSeries beyond it a new name of a model counts as another */
  constructor (bounds: readonly number[], maxSeries = Infinity) {
    this.#bounds = bounds
    this.#maxSeries = maxSeries
  }

  observe (labels: Labels, value: number, span?: Pick<Exemplar, 'traceId' | 'spanId'>): void {
    const key = printLabels(labels)
    let series = this.#series.get(key)
    if (series === undefined) {
      if (this.#series.size >= this.#maxSeries && labels[modelAttribute] !== other) {
        return this.observe({ ...labels, [modelAttribute]: other }, value, span)
      }
      this.#series.set(key, series = { labels, histogram: new Histogram(this.#bounds) })
    }
    series.histogram.observe(value, span)
  }

  samples (): Sample[] {
    return [...this.#series.values()].map(({ labels, histogram }) => ({ labels, value: histogram.value }))
  }
}

/** Counts attempts by model, provider, and what became of them. */
class AttemptCounters {
  readonly #label: string
  readonly #maxSeries: number
  readonly #counts = new Map<string, { readonly labels: Labels, count: number }>()

  constructor (label: string, maxSeries: number) {
    this.#label = label
    this.#maxSeries = maxSeries
  }

  note (model: string, provider: string, result: string): void {
    const key = `${model}|${provider}|${result}`
    const count = this.#counts.get(key)
    if (count !== undefined) count.count++
    else if (this.#counts.size >= this.#maxSeries && model !== other) this.note(other, other, result)
    else
      this.#counts.set(key, {
        labels: { model, provider, [this.#label]: result.replaceAll(' ', '_') },
        count: 1
      })
  }

  addTo ({ samples }: Family): void {
    for (const { labels, count } of this.#counts.values()) samples.push({ labels, value: count })
  }
}

type CallFamilies = ReturnType<typeof callFamilies>

function callFamilies () {
  const family = (type: Family['type'], name: string, help: string): Family => ({
    name,
    help,
    type,
    samples: []
  })
  return {
    calls: family(
      'counter',
      'headgate_calls_total',
      'Calls that have ended; status 499 when the client disconnected.'
    ),
    duration: family(
      'histogram',
      'headgate_call_duration_seconds',
      'Time from the start of a call to the last byte.'
    ),
    firstByte: family(
      'histogram',
      'headgate_first_byte_seconds',
      'Time from the start of a call to the first output of a streamed answer.'
    ),
    overhead: family(
      'histogram',
      'headgate_overhead_seconds',
      'Time the gateway itself takes until the head of the answer.'
    ),
    tokens: family('counter', 'headgate_tokens_total', 'Tokens, including estimates.'),
    cachedTokens: family('counter', 'headgate_cached_tokens_total', 'Input tokens read from a cache.'),
    cost: family(
      'counter',
      'headgate_cost_usd_total',
      'Cost of calls in US dollars; models without a price count as zero.'
    ),
    attempts: family(
      'counter',
      'headgate_attempts_total',
      'Requests sent to providers, by the model of each and its outcome: ok, or why its answer was not used.'
    ),
    retries: family(
      'counter',
      'headgate_retries_total',
      'Repeated attempts at a model that had just failed, by the model tried last.'
    ),
    hedges: family(
      'counter',
      'headgate_hedges_total',
      'Requests started because another one was slow, by the model that produced the answer.'
    ),
    fallbacks: family(
      'counter',
      'headgate_fallbacks_total',
      'Calls that another model than the first choice completed.'
    ),
    failedAttempts: family(
      'counter',
      'headgate_failed_attempts_total',
      'Failed attempts and skipped routes, by reason.'
    ),
    refusals: family(
      'counter',
      'headgate_limits_refused_total',
      'Calls refused because of a limit of their key.'
    ),
    unauthorized: family(
      'counter',
      'headgate_unauthorized_total',
      'Calls without a valid key, or with one that may not do that.'
    ),
    findings: family('counter', 'headgate_stage_findings_total', 'Findings of stages in the texts of calls.'),
    looks: family('counter', 'headgate_stage_looks_total', 'Number of times that stages looked at texts of calls.'),
    lookSeconds: family(
      'counter',
      'headgate_stage_seconds_total',
      'Time that stages took to look at texts of calls.'
    ),
    lookups: family(
      'counter',
      'headgate_answer_cache_calls_total',
      'Lookups in the cache of answers, by result: hit, miss or bypass.'
    ),
    operations: {
      ...family('histogram', 'gen_ai.client.operation.duration', 'Time of a request to a provider.'),
      unit: 's' as const
    },
    operationTokens: {
      ...family(
        'histogram',
        'gen_ai.client.token.usage',
        'Tokens of a request to a provider and of its answer, where it reports them.'
      ),
      unit: '{token}' as const
    },
    firstChunks: {
      ...family(
        'histogram',
        'gen_ai.client.operation.time_to_first_chunk',
        'Time from a request to a provider to the first output of a streamed answer.'
      ),
      unit: 's' as const
    }
  }
}

/** Labels the calls that are counted together. */
type CallLabels = Readonly<Record<'endpoint' | 'model' | 'provider', string>> & { readonly outcome: Outcome }

class CallSeries {
  readonly #labels: CallLabels
  readonly #statuses = new Map<number, number>()
  readonly #duration = new Histogram(durationBounds)
  readonly #firstByte = new Histogram(firstByteBounds)
  #input = 0
  #output = 0
  #cached = 0
  #nanoUsd = 0
  #retries = 0
  #hedges = 0
  #fallbacks = 0

  constructor (labels: CallLabels) {
    this.#labels = labels
  }

  note (record: CallRecord, seconds: number, row?: Row): void {
    const {
      status = 0,
      firstByteMs,
      retries,
      hedges,
      chosen,
      routes,
      chargedNanoUsd = 0,
      refundedNanoUsd = 0
    } = record
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1)
    this.#duration.observe(seconds, sentSpan(record, record.trace?.spanId))
    if (firstByteMs !== undefined) this.#firstByte.observe(firstByteMs / 1000)
    this.#retries += retries ?? 0
    this.#hedges += hedges ?? 0
    if (chosen !== undefined && chosen !== routes?.[0]) this.#fallbacks++
    if (row === undefined) return
    this.#input += row.prompt_tokens ?? 0
    this.#output += row.completion_tokens ?? 0
    this.#cached += row.cached_tokens ?? 0
    // A deferred answer counts when it is fetched: a counter takes nothing back.
    this.#nanoUsd += Math.max(0, (row.cost_nano_usd ?? 0) - chargedNanoUsd + refundedNanoUsd)
  }

  addTo ({ calls, duration, firstByte, ...families }: CallFamilies): void {
    const labels = this.#labels
    for (const [status, value] of this.#statuses) {
      calls.samples.push({ labels: { ...labels, status: String(status) }, value })
    }
    duration.samples.push({ labels, value: this.#duration.value })
    if (!this.#firstByte.isEmpty) firstByte.samples.push({ labels, value: this.#firstByte.value })
    // Calls without a model would only add zeros.
    if (labels.model === '') return
    families.tokens.samples.push(
      { labels: { ...labels, direction: 'input' }, value: this.#input },
      { labels: { ...labels, direction: 'output' }, value: this.#output }
    )
    families.cachedTokens.samples.push({ labels, value: this.#cached })
    families.cost.samples.push({ labels, value: this.#nanoUsd / 1e9 })
    families.retries.samples.push({ labels, value: this.#retries })
    families.hedges.samples.push({ labels, value: this.#hedges })
    families.fallbacks.samples.push({ labels, value: this.#fallbacks })
  }
}
