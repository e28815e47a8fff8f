/**
 * Counts calls that have ended, at half a microsecond each.
 *
 * Labels are bounded: an unknown name of a model counts as `other`, and so does
 * every new one beyond the maximum.
 */

import { Histogram, labels, type Family } from './metric-families.ts'
import type { Call } from '../core/call.ts'
import type { CallRecord, Outcome } from '../core/record.ts'
import type { Refusal } from '../core/key.ts'
import type { UsageRow } from '../stores/tables.ts'

/** Bounds each of the maps below: 38,000 lines of text, which take 50 ms to print. */
const maxSeries = 1000
const other = 'other'

const durationBounds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const firstByteBounds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const overheadBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

/** Selects what a call used, from its usage record. */
type Row = Pick<UsageRow, 'prompt_tokens' | 'completion_tokens' | 'cached_tokens' | 'cost_nano_usd'>

export class CallMetrics {
  readonly #isKnown: (modelId: string) => boolean
  readonly #maxSeries: number
  readonly #counters = new Map<string, CallSeries>()
  readonly #overhead = new Map<string, Histogram>()
  readonly #attempts: AttemptCounters
  readonly #failedAttempts: AttemptCounters
  readonly #refusals = new Map<Refusal, number>()
  /** By the labels of the series: stages of the configuration are few. */
  readonly #findings = new Map<string, number>()
  /** Looks of stages and their milliseconds, by the labels of the series. */
  readonly #looks = new Map<string, readonly [looks: number, ms: number]>()
  /** By the labels of the series. */
  readonly #lookups = new Map<string, number>()

  /** @param isKnown returns true for the full id of a model that not only a caller knows */
  constructor (isKnown: (modelId: string) => boolean, limit = maxSeries) {
    this.#isKnown = isKnown
    this.#maxSeries = limit
    this.#attempts = new AttemptCounters('outcome', limit)
    this.#failedAttempts = new AttemptCounters('reason', limit)
  }

  observe ({ record, receivedAtMs }: Pick<Call, 'record' | 'receivedAtMs'>, row?: Row): void {
    const {
      endpoint,
      modelId,
      providerId = '',
      outcome = 'ok',
      overheadMs,
      requests = [],
      failedAttempts = [],
      refusedBy,
      findings,
      cache
    } = record
    const seconds = (performance.now() - receivedAtMs) / 1000
    this.#countersOf(endpoint, this.#modelOf(modelId), providerId, outcome).note(record, seconds, row)
    if (overheadMs !== undefined) this.#overheadOf(endpoint).observe(overheadMs / 1000)
    for (const { route, reason = 'ok' } of requests) {
      this.#attempts.note(this.#modelOf(route.modelId), route.providerId, reason)
    }
    for (const { route, reason } of failedAttempts) {
      this.#failedAttempts.note(this.#modelOf(route.modelId), route.providerId, reason)
    }
    for (const { stage, point, action, count, durationMs } of findings?.list ?? []) {
      if (action !== 'look') continue
      const series = labels({ stage, point })
      const [looks, ms] = this.#looks.get(series) ?? [0, 0]
      this.#looks.set(series, [looks + count, ms + durationMs])
    }
    for (const { stage, point, action, count } of findings?.found ?? []) {
      const series = labels({ stage, point, action })
      this.#findings.set(series, (this.#findings.get(series) ?? 0) + count)
    }
    if (cache !== undefined) {
      const series = labels({ endpoint, result: cache })
      this.#lookups.set(series, (this.#lookups.get(series) ?? 0) + 1)
    }
    if (refusedBy !== undefined) this.#refusals.set(refusedBy, (this.#refusals.get(refusedBy) ?? 0) + 1)
  }

  families (): Family[] {
    const families = callFamilies()
    for (const counters of this.#counters.values()) counters.addTo(families)
    for (const [endpoint, histogram] of this.#overhead) {
      histogram.addTo(families.overhead, labels({ endpoint }))
    }
    this.#attempts.addTo(families.attempts)
    this.#failedAttempts.addTo(families.failedAttempts)
    for (const [limit, count] of this.#refusals) families.refusals.samples.push([labels({ limit }), count])
    for (const [series, count] of this.#findings) families.findings.samples.push([series, count])
    for (const [series, [looks, ms]] of this.#looks) {
      families.looks.samples.push([series, looks])
      families.lookSeconds.samples.push([series, ms / 1000])
    }
    for (const [series, count] of this.#lookups) families.lookups.samples.push([series, count])
    return Object.values(families)
  }

  #modelOf (modelId: string | undefined): string {
    if (modelId === undefined) return ''
    return this.#isKnown(modelId) ? modelId : other
  }

  #overheadOf (endpoint: string): Histogram {
    let histogram = this.#overhead.get(endpoint)
    if (histogram === undefined) this.#overhead.set(endpoint, histogram = new Histogram(overheadBounds))
    return histogram
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

/** Counts attempts by model, provider, and what became of them. */
class AttemptCounters {
  readonly #label: string
  readonly #maxSeries: number
  readonly #counts = new Map<string, { readonly series: string, count: number }>()

  constructor (label: string, maxSeries: number) {
    this.#label = label
    this.#maxSeries = maxSeries
  }

  note (model: string, provider: string, result: string): void {
    const key = `${model}|${provider}|${result}`
    const known = this.#counts.get(key)
    if (known !== undefined) known.count++
    else if (this.#counts.size >= this.#maxSeries && model !== other) this.note(other, other, result)
    else
      this.#counts.set(key, {
        series: labels({ model, provider, [this.#label]: result.replaceAll(' ', '_') }),
        count: 1
      })
  }

  addTo ({ samples }: Family): void {
    for (const { series, count } of this.#counts.values()) samples.push([series, count])
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
    findings: family('counter', 'headgate_stage_findings_total', 'What stages found in the texts of calls.'),
    looks: family('counter', 'headgate_stage_looks_total', 'Times that stages looked at texts of calls.'),
    lookSeconds: family(
      'counter',
      'headgate_stage_seconds_total',
      'Time that stages took to look at texts of calls.'
    ),
    lookups: family(
      'counter',
      'headgate_answer_cache_calls_total',
      'Calls that were looked for among the answers that are kept: hit, miss, or bypass.'
    )
  }
}

/** Labels the calls that are counted together. */
interface Labels {
  readonly endpoint: string
  readonly model: string
  readonly provider: string
  readonly outcome: Outcome
}

class CallSeries {
  readonly #labels: Labels
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

  constructor (labels: Labels) {
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
    this.#duration.observe(seconds)
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
    const all = labels(this.#labels)
    for (const [status, count] of this.#statuses) {
      calls.samples.push([labels({ ...this.#labels, status }), count])
    }
    this.#duration.addTo(duration, all)
    if (!this.#firstByte.isEmpty) this.#firstByte.addTo(firstByte, all)
    // Calls without a model would only add zeros.
    if (this.#labels.model === '') return
    families.tokens.samples.push(
      [labels({ ...this.#labels, direction: 'input' }), this.#input],
      [labels({ ...this.#labels, direction: 'output' }), this.#output]
    )
    families.cachedTokens.samples.push([all, this.#cached])
    families.cost.samples.push([all, this.#nanoUsd / 1e9])
    families.retries.samples.push([all, this.#retries])
    families.hedges.samples.push([all, this.#hedges])
    families.fallbacks.samples.push([all, this.#fallbacks])
  }
}
