/**
 * Collects the metrics of one process and its gateway:
 * ```ts
 * const metrics = new Metrics(() => gateway)
 * const gateway = await createGateway(settings, { keys, log, observers: [metrics.observe] })
 * const server = await serveMetrics(settings.metrics, () => metrics.families(), log)
 * ```
 */

import { CallMetrics } from './call-metrics.ts'
import { certificateExpiries } from '../net/certificates.ts'
import { printLabels, single, type Family, type Labels } from './metric-families.ts'
import { guardKindOf } from '../../schemas/config/stages.ts'
import type { HistogramValue } from '../core/histogram.ts'
import { ProcessMetrics } from './process-metrics.ts'
import type { Call } from '../core/call.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { Providers, TransportLoad } from '../providers/provider.ts'
import type { RouteHealth } from '../routing/route-health.ts'
import type { Settings } from '../core/settings.ts'
import type { UsageRow } from '../stores/tables.ts'

/** The parts that `/health` can report as degraded. */
const degradableParts = ['configuration', 'keys', 'ledger', 'store', 'coordination', 'exports'] as const

/** The current load of a gateway. */
export interface Load {
  readonly openCalls: number
  /** Usage records not yet written. */
  readonly rowsWaiting: number
  /** Usage records lost since the start. */
  readonly rowsDropped: number
  /** Calls whose bodies should have been stored but were dropped, since the start. */
  readonly bodiesDropped: number
  /** Spans dropped since the start. Absent if spans are not exported. */
  readonly spansDropped?: number | undefined
  /** Seconds spent in PostgreSQL queries. Absent with the embedded store or none. */
  readonly queries?: HistogramValue | undefined
  /** The parts that fail while calls go on. */
  readonly degraded: readonly string[]
  /** Unfinished work of modules, by stage. Stages without any have no entry. */
  readonly openWork: ReadonlyMap<string, number>
  /** Attempts to export usage since the configuration took effect, by target. Absent without targets. */
  readonly usageExports?: ReadonlyMap<string, Readonly<Record<'written' | 'failed', number>>> | undefined
  /** Absent if machines do not coordinate. */
  readonly coordination?: CoordinationLoad | undefined
}

export interface CoordinationLoad {
  readonly isAway: boolean
  /** Calls of limited keys decided without Redis, since the start. */
  readonly decidedAlone: number
  /** Seconds spent in Redis commands. */
  readonly commands: HistogramValue
}

/** The observed part of a gateway; its services change with the configuration. */
export interface ObservedGateway {
  readonly services: {
    readonly models: ModelRegistry
    readonly routeHealth: RouteHealth
    readonly providers: Providers
    readonly settings: Settings
    readonly answerCache?: { readonly bytes: number } | undefined
  }
  readonly load: () => Load
}

/** What was not exported since the start. */
export interface ExportLoad {
  /** Absent if logs are not exported. */
  readonly logsDropped?: number | undefined
  /** Failed metrics requests; absent if metrics are not exported. */
  readonly metricsFailed?: number | undefined
}

interface Reloads {
  ok: number
  /** Rejected configurations; the previous one stayed in effect. */
  failed: number
}

export class Metrics {
  readonly #gateway: () => ObservedGateway
  readonly #exports: () => ExportLoad
  readonly #calls: CallMetrics
  readonly #process = new ProcessMetrics()
  readonly #reloads: Reloads = { ok: 0, failed: 0 }

  /**
   * @param gateway not called before the first call has ended or the first scrape
   * @param exports counts failed exports if metrics or logs are exported
   */
  constructor (gateway: () => ObservedGateway, exports: () => ExportLoad = () => ({})) {
    this.#gateway = gateway
    this.#exports = exports
    this.#calls = new CallMetrics(
      modelId => isKnown(modelId, gateway().services),
      providerId => gateway().services.settings.providers.find(({ id }) => id === providerId)?.kind
    )
  }

  /** Counts a call; passed to `createGateway` as an observer. */
  readonly observe = (call: Call, row?: UsageRow): void => this.#calls.observe(call, row)

  /** Counts a configuration reload. */
  noteReload (result: keyof Reloads): void {
    this.#reloads[result]++
  }

  families (): Family[] {
    return [
      ...this.#calls.families(),
      reloadFamily(this.#reloads),
      ...gatewayFamilies(this.#gateway()),
      ...exportFamilies(this.#exports()),
      ...this.#process.families()
    ]
  }
}

function reloadFamily (reloads: Reloads): Family {
  return {
    name: 'headgate_configuration_reloads_total',
    help: 'Configuration changes that a process noticed: applied or rejected.',
    type: 'counter',
    samples: Object.entries(reloads).map(([result, value]: [string, number]) => ({
      labels: { result },
      value
    }))
  }
}

function exportFamilies ({ logsDropped, metricsFailed }: ExportLoad): Family[] {
  return [
    ...(logsDropped === undefined
      ? []
      : [
          single(
            'counter',
            'headgate_log_records_dropped_total',
            'Log records that were not delivered to a collector.',
            logsDropped
          )
        ]),
    ...(metricsFailed === undefined
      ? []
      : [
          single(
            'counter',
            'headgate_metric_exports_failed_total',
            'Requests with metrics that failed.',
            metricsFailed
          )
        ])
  ]
}

function gatewayFamilies ({ services, load }: ObservedGateway): Family[] {
  const {
    openCalls,
    rowsWaiting,
    rowsDropped,
    bodiesDropped,
    spansDropped,
    queries,
    degraded,
    openWork,
    usageExports,
    coordination
  } = load()
  const open = new Map<string, number>()
  for (const [modelId, isOpen] of services.routeHealth.circuits()) {
    const model = isKnown(modelId, services) ? modelId : 'other'
    open.set(model, (open.get(model) ?? 0) + Number(isOpen))
  }
  const learned = new Map<string, { readonly labels: Labels, value: number }>()
  for (const [name, { reason, origin }] of services.routeHealth.cooldowns('')) {
    const [provider = ''] = name.split('/', 1)
    if (origin !== 'another_process') continue
    const labels = { provider, reason }
    const series = printLabels(labels)
    learned.set(series, { labels, value: (learned.get(series)?.value ?? 0) + 1 })
  }
  return [
    single('gauge', 'headgate_open_calls', 'Open calls.', openCalls),
    {
      ...single(
        'gauge',
        'headgate_circuit_open',
        'Processes in which the circuit of this model is open, for all keys or for one.',
        0
      ),
      samples: [...open].map(([model, value]) => ({ labels: { model }, value }))
    },
    {
      ...single(
        'gauge',
        'headgate_cooldowns_learned',
        'Providers and models that cool down because another process reported it.',
        0
      ),
      samples: [...learned.values()]
    },
    single(
      'gauge',
      'headgate_answer_cache_bytes',
      'Memory of cached answers.',
      services.answerCache?.bytes ?? 0
    ),
    ...upstreamFamilies(services.providers),
    ...certificateFamilies(services.settings),
    {
      ...single(
        'gauge',
        'headgate_degraded',
        'Processes in which this part fails while calls continue.',
        0
      ),
      samples: degradableParts.map(part => ({ labels: { part }, value: Number(degraded.includes(part)) }))
    },
    {
      ...single(
        'gauge',
        'headgate_stage_open',
        'Functions and pipeline stages of a module that were started for calls and have not ended.',
        0
      ),
      samples: stageSamples(services.settings, openWork)
    },
    single('gauge', 'headgate_ledger_rows_waiting', 'Usage records that are not written yet.', rowsWaiting),
    single('counter', 'headgate_ledger_rows_dropped_total', 'Usage records that were lost.', rowsDropped),
    single(
      'counter',
      'headgate_call_bodies_dropped_total',
      'Calls whose bodies should have been kept but were dropped.',
      bodiesDropped
    ),
    ...(spansDropped === undefined
      ? []
      : [
          single(
            'counter',
            'headgate_spans_dropped_total',
            'Spans of calls that were not delivered to a collector.',
            spansDropped
          )
        ]),
    ...(usageExports === undefined ? [] : [{
      ...single(
        'counter',
        'headgate_usage_exports_total',
        'Attempts to write a file of `usage.exports`: written or failed.',
        0
      ),
      samples: [...usageExports].flatMap(([target, counts]) => (
        Object.entries(counts).map(([result, value]) => ({ labels: { target, result }, value }))
      ))
    }]),
    ...(queries === undefined
      ? []
      : [histogram('headgate_postgres_seconds', 'Time of queries on PostgreSQL.', queries)]),
    ...(coordination === undefined
      ? []
      : [
          histogram('headgate_redis_seconds', 'Time of commands to Redis.', coordination.commands),
          single(
            'gauge',
            'headgate_coordination_away',
            'Processes that cannot reach the Redis that counts limits.',
            Number(coordination.isAway)
          ),
          single(
            'counter',
            'headgate_coordination_alone_total',
            'Calls of limited keys that were decided without Redis.',
            coordination.decidedAlone
          )
        ])
  ]
}

/** Returns a sample for each configured module, and for earlier ones with unfinished work. */
function stageSamples ({ stages }: Settings, openWork: Load['openWork']): Family['samples'] {
  const modules = stages.flatMap(({ name, use }) => guardKindOf(use) === 'module' ? name : [])
  const names = new Set([...modules, ...openWork.keys()])
  return [...names].map(stage => ({ labels: { stage }, value: openWork.get(stage) ?? 0 }))
}

function histogram (name: string, help: string, value: HistogramValue): Family {
  return { name, help, type: 'histogram', samples: [{ labels: {}, value }] }
}

function certificateFamilies (settings: Settings): Family[] {
  return [{
    name: 'headgate_certificate_expiry_timestamp_seconds',
    help: 'Unix time at which this certificate expires.',
    type: 'gauge',
    merge: 'max',
    samples: certificateExpiries(settings).map(({ certificate, expiresAtMs }) => ({
      labels: { certificate },
      value: expiresAtMs / 1000
    }))
  }]
}

function upstreamFamilies (providers: Providers): Family[] {
  const loads = [...providers].flatMap(([provider, { transport }]) =>
    transport.load === undefined ? [] : [{ provider, load: transport.load() }]
  )
  const family = (
    type: Family['type'],
    name: string,
    help: string,
    value: (load: TransportLoad) => number
  ): Family => ({
    name,
    help,
    type,
    samples: loads.map(({ provider, load }) => ({ labels: { provider }, value: value(load) }))
  })
  return [
    family(
      'gauge',
      'headgate_upstream_connections',
      'Connections to this provider.',
      ({ connections }) => connections
    ),
    family(
      'gauge',
      'headgate_upstream_waiting',
      'Requests waiting for a connection to this provider.',
      ({ waiting }) => waiting
    ),
    family(
      'counter',
      'headgate_upstream_refused_total',
      'Requests that waited too long for a connection, or found the queue full.',
      ({ refused }) => refused
    )
  ]
}

/** Returns true for models that are listed or configured; any other name was made up by a caller. */
function isKnown (modelId: string, { models, settings }: ObservedGateway['services']): boolean {
  return models.find(modelId) !== undefined ||
    settings.routes.some(route => route.models.includes(modelId)) ||
    settings.models.some(({ alias }) => alias === modelId)
}
