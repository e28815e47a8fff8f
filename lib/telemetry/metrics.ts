/**
 * Collects the metrics of one process and its gateway: those of calls (`call-metrics`), those of the process
 * (`process-metrics`), and a table of all others.
 *
 * ```ts
 * const metrics = new Metrics(() => gateway)
 * const gateway = await createGateway(settings, { keys, log, observers: [metrics.observe] })
 * const server = await serveMetrics(settings.metrics, () => metrics.families(), log)
 * ```
 */

import { CallMetrics } from './call-metrics.ts'
import { certificateExpiries } from '../net/certificates.ts'
import { printLabels, type Family, type Labels, type Sample } from './metric-families.ts'
import { guardKindOf } from '../../schemas/config/guards.ts'
import type { HistogramValue } from '../core/histogram.ts'
import { ProcessMetrics } from './process-metrics.ts'
import type { Call } from '../core/call.ts'
import type { ModelRegistry } from '../models/model-registry.ts'
import type { Providers, TransportLoad } from '../providers/provider.ts'
import type { RoutingState } from '../routing/routing-state.ts'
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
  /** Unfinished work of modules, by guard. Guards without any have no entry. */
  readonly openWork: ReadonlyMap<string, number>
  /** Attempts to export usage since the configuration took effect, by target. Absent without targets. */
  readonly usageExports?: ReadonlyMap<string, Readonly<Record<'written' | 'failed', number>>> | undefined
  /** Absent if machines do not coordinate. */
  readonly coordination?: CoordinationLoad | undefined
}

export interface CoordinationLoad {
  readonly isUnreachable: boolean
  /** Calls of limited keys decided without Redis, since the start. */
  readonly decidedAlone: number
  /** Seconds spent in Redis commands. */
  readonly commands: HistogramValue
}

/** The observed part of a gateway; its services change with the configuration. */
export interface ObservedGateway {
  readonly services: {
    readonly models: ModelRegistry
    readonly routingState: RoutingState
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
    const { services, load } = this.#gateway()
    const source = { services, load: load(), exports: this.#exports(), reloads: this.#reloads }
    return [
      ...this.#calls.families(),
      ...gatewayMetrics.flatMap(({ samples, ...family }) => {
        const found = samples(source)
        return found === undefined ? [] : { ...family, samples: found }
      }),
      ...this.#process.families()
    ]
  }
}

/** Where the values of metrics come from. */
interface Source {
  readonly services: ObservedGateway['services']
  readonly load: Load
  readonly exports: ExportLoad
  readonly reloads: Reloads
}

interface Metric extends Omit<Family, 'samples'> {
  /** Returns `undefined` if the gateway does not have what is measured. */
  readonly samples: (source: Source) => Sample[] | undefined
}

/** Everything except calls and the process itself, in the order in which it is printed. */
const gatewayMetrics: readonly Metric[] = [
  {
    name: 'headgate_configuration_reloads_total',
    help: 'Configuration changes that a process noticed: applied or rejected.',
    type: 'counter',
    samples: ({ reloads }) => byLabel('result', Object.entries(reloads))
  },
  {
    name: 'headgate_open_calls',
    help: 'Open calls.',
    type: 'gauge',
    samples: ({ load }) => unlabelled(load.openCalls)
  },
  {
    name: 'headgate_circuit_open',
    help: 'Processes in which the circuit of this model is open, for all keys or for one.',
    type: 'gauge',
    samples: ({ services }) => byLabel('model', openCircuits(services))
  },
  {
    name: 'headgate_cooldowns_learned',
    help: 'Providers and models that cool down because another process reported it.',
    type: 'gauge',
    samples: ({ services }) => learnedCooldowns(services)
  },
  {
    name: 'headgate_answer_cache_bytes',
    help: 'Memory of cached answers.',
    type: 'gauge',
    samples: ({ services }) => unlabelled(services.answerCache?.bytes ?? 0)
  },
  {
    name: 'headgate_upstream_connections',
    help: 'Connections to this provider.',
    type: 'gauge',
    samples: ({ services }) => byProvider(services, ({ connections }) => connections)
  },
  {
    name: 'headgate_upstream_waiting',
    help: 'Requests waiting for a connection to this provider.',
    type: 'gauge',
    samples: ({ services }) => byProvider(services, ({ waiting }) => waiting)
  },
  {
    name: 'headgate_upstream_refused_total',
    help: 'Requests that waited too long for a connection, or found the queue full.',
    type: 'counter',
    samples: ({ services }) => byProvider(services, ({ refused }) => refused)
  },
  {
    name: 'headgate_certificate_expiry_timestamp_seconds',
    help: 'Unix time at which this certificate expires.',
    type: 'gauge',
    merge: 'max',
    samples: ({ services }) => certificateExpiries(services.settings).map(({ certificate, expiresAtMs }) => ({
      labels: { certificate },
      value: expiresAtMs / 1000
    }))
  },
  {
    name: 'headgate_degraded',
    help: 'Processes in which this part fails while calls continue.',
    type: 'gauge',
    samples: ({ load: { degraded } }) =>
      byLabel('part', degradableParts.map(part => [part, Number(degraded.includes(part))]))
  },
  {
    name: 'headgate_stage_open',
    help: 'Functions and pipeline stages of a module that were started for calls and have not ended.',
    type: 'gauge',
    samples: ({ services, load }) => byLabel('stage', unfinishedWork(services.settings, load))
  },
  {
    name: 'headgate_ledger_rows_waiting',
    help: 'Usage records that are not written yet.',
    type: 'gauge',
    samples: ({ load }) => unlabelled(load.rowsWaiting)
  },
  {
    name: 'headgate_ledger_rows_dropped_total',
    help: 'Usage records that were lost.',
    type: 'counter',
    samples: ({ load }) => unlabelled(load.rowsDropped)
  },
  {
    name: 'headgate_call_bodies_dropped_total',
    help: 'Calls whose bodies should have been kept but were dropped.',
    type: 'counter',
    samples: ({ load }) => unlabelled(load.bodiesDropped)
  },
  {
    name: 'headgate_spans_dropped_total',
    help: 'Spans of calls that were not delivered to a collector.',
    type: 'counter',
    samples: ({ load }) => unlabelled(load.spansDropped)
  },
  {
    name: 'headgate_usage_exports_total',
    help: 'Attempts to write a file of `usage.exports`: written or failed.',
    type: 'counter',
    samples: ({ load: { usageExports } }) => usageExports && [...usageExports].flatMap(([target, counts]) =>
      Object.entries(counts).map(([result, value]) => ({ labels: { target, result }, value })))
  },
  {
    name: 'headgate_postgres_seconds',
    help: 'Time of queries on PostgreSQL.',
    type: 'histogram',
    samples: ({ load }) => unlabelled(load.queries)
  },
  {
    name: 'headgate_redis_seconds',
    help: 'Time of commands to Redis.',
    type: 'histogram',
    samples: ({ load: { coordination } }) => unlabelled(coordination?.commands)
  },
  {
    name: 'headgate_coordination_away',
    help: 'Processes that cannot reach the Redis that counts limits.',
    type: 'gauge',
    samples: ({ load: { coordination } }) => unlabelled(coordination && Number(coordination.isUnreachable))
  },
  {
    name: 'headgate_coordination_alone_total',
    help: 'Calls of limited keys that were decided without Redis.',
    type: 'counter',
    samples: ({ load: { coordination } }) => unlabelled(coordination?.decidedAlone)
  },
  {
    name: 'headgate_log_records_dropped_total',
    help: 'Log records that were not delivered to a collector.',
    type: 'counter',
    samples: ({ exports }) => unlabelled(exports.logsDropped)
  },
  {
    name: 'headgate_metric_exports_failed_total',
    help: 'Requests with metrics that failed.',
    type: 'counter',
    samples: ({ exports }) => unlabelled(exports.metricsFailed)
  }
]

/** Returns the sample of a metric without labels. */
function unlabelled (value: Sample['value'] | undefined): Sample[] | undefined {
  return value === undefined ? undefined : [{ labels: {}, value }]
}

function byLabel (label: string, values: Iterable<readonly [string, number]>): Sample[] {
  return [...values].map(([name, value]) => ({ labels: { [label]: name }, value }))
}

function byProvider (
  { providers }: ObservedGateway['services'],
  valueOf: (load: TransportLoad) => number
): Sample[] {
  return byLabel('provider', [...providers].flatMap(([provider, { transport }]) =>
    transport.load === undefined ? [] : [[provider, valueOf(transport.load())] as const]))
}

/** Returns the number of open circuits of each model. */
function openCircuits (services: ObservedGateway['services']): ReadonlyMap<string, number> {
  const open = new Map<string, number>()
  for (const [modelId, isOpen] of services.routingState.circuits()) {
    const model = isKnown(modelId, services) ? modelId : 'other'
    open.set(model, (open.get(model) ?? 0) + Number(isOpen))
  }
  return open
}

function learnedCooldowns ({ routingState }: ObservedGateway['services']): Sample[] {
  const learned = new Map<string, { readonly labels: Labels, value: number }>()
  for (const [name, { reason, origin }] of routingState.cooldowns('')) {
    const [provider = ''] = name.split('/', 1)
    if (origin !== 'another_process') continue
    const labels = { provider, reason }
    const series = printLabels(labels)
    learned.set(series, { labels, value: (learned.get(series)?.value ?? 0) + 1 })
  }
  return [...learned.values()]
}

/** Returns the work of each configured module, and of earlier ones with unfinished work. */
function unfinishedWork ({ guards }: Settings, { openWork }: Load): Array<readonly [string, number]> {
  const modules = guards.flatMap(({ name, use }) => guardKindOf(use) === 'module' ? name : [])
  return [...new Set([...modules, ...openWork.keys()])].map(name => [name, openWork.get(name) ?? 0])
}

/** Returns true for models that are listed or configured; any other name was made up by a caller. */
function isKnown (modelId: string, { models, settings }: ObservedGateway['services']): boolean {
  return models.find(modelId) !== undefined ||
    settings.routes.some(route => route.models.includes(modelId)) ||
    settings.models.some(({ alias }) => alias === modelId)
}
