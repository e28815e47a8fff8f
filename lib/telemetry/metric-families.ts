/**
 * Prometheus metrics: the values of one process, sums over several processes, and the text format.
 *
 * Replaces prom-client, which takes 5.2 µs of CPU per call with children bound per label set (ten counters
 * and histograms; 10 µs without) where this takes 0.4 µs, and which loses the counts of workers that exited.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */

import type { Exemplar, HistogramValue } from '../core/histogram.ts'

/** One metric of a process, as plain data that can be sent to another process. */
export interface Family {
  /** A Prometheus name, or an OpenTelemetry name with dots. */
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** The unit of a name with dots; Prometheus names include it. */
  readonly unit?: 's' | '{token}'
  /** How values of several processes are combined. Default: summed. */
  readonly merge?: 'max'
  /** One per label set. */
  readonly samples: Sample[]
}

export interface Sample {
  readonly labels: Labels
  readonly value: number | HistogramValue
}

/** Labels by name: a Prometheus label, or an OpenTelemetry attribute with dots. */
export type Labels = Readonly<Record<string, string>>

/** Returns a metric with a single value. */
export function single (
  type: Exclude<Family['type'], 'histogram'>,
  name: string,
  help: string,
  value: number
): Family {
  return { name, help, type, samples: [{ labels: {}, value }] }
}

/** Formats labels: `{endpoint="chat",status="200"}`; without labels an empty string. */
export function printLabels (labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${prometheusName(name)}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function prometheusName (name: string): string {
  return name.replaceAll('.', '_')
}

/** Returns the Prometheus name of a metric. */
export function familyName ({ name, unit }: Pick<Family, 'name' | 'unit'>): string {
  return prometheusName(name) + (unit === 's' ? '_seconds' : '')
}

function escaped (value: string): string {
  return value.replace(/[\\"\n]/g, letter => letter === '\n' ? '\\n' : `\\${letter}`)
}

/** Combines the metrics of several processes. */
export function mergeFamilies (processes: ReadonlyArray<readonly Family[]>): Family[] {
  const byName = new Map<string, { readonly family: Family, readonly samples: Map<string, Sample> }>()
  for (const family of processes.flat()) {
    let total = byName.get(family.name)
    if (total === undefined) byName.set(family.name, total = { family, samples: new Map() })
    for (const { labels, value } of family.samples) {
      const series = printLabels(labels)
      const before = total.samples.get(series)?.value
      total.samples.set(series, {
        labels,
        value: before === undefined ? value : combined(before, value, family.merge)
      })
    }
  }
  return [...byName.values()].map(({ family, samples }) => ({ ...family, samples: [...samples.values()] }))
}

function combined (a: Sample['value'], b: Sample['value'], merge: Family['merge']): Sample['value'] {
  if (typeof a === 'number' && typeof b === 'number') return merge === 'max' ? Math.max(a, b) : a + b
  if (typeof a === 'number' || typeof b === 'number') throw new TypeError('one metric of two types')
  return {
    bounds: a.bounds,
    counts: a.counts.map((count, bucket) => count + (b.counts[bucket] ?? 0)),
    sum: a.sum + b.sum,
    ...(a.exemplars ?? b.exemplars) !== undefined && { exemplars: newest(a.exemplars, b.exemplars) }
  }
}

function newest (
  one: HistogramValue['exemplars'] = {},
  other: HistogramValue['exemplars'] = {}
): Record<number, Exemplar> {
  const all = [...Object.entries(one), ...Object.entries(other)]
  return Object.fromEntries(all.toSorted(([, a], [, b]) => a.atMs - b.atMs))
}

/** Prometheus text format, or OpenMetrics, which has exemplars. */
export type MetricsFormat = 'prometheus' | 'openmetrics'

/** @see https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md */
export function printFamilies (families: readonly Family[], format: MetricsFormat = 'prometheus'): string {
  let text = ''
  for (const family of families) {
    const name = familyName(family)
    const title = format === 'openmetrics' && family.type === 'counter' ? name.replace(/_total$/, '') : name
    text += `# HELP ${title} ${family.help}\n# TYPE ${title} ${family.type}\n`
    for (const { labels, value } of family.samples) {
      text += typeof value === 'number'
        ? `${name}${printLabels(labels)} ${value}\n`
        : printHistogram(name, labels, value, format)
    }
  }
  return format === 'openmetrics' ? `${text}# EOF\n` : text
}

function printHistogram (
  name: string,
  labels: Labels,
  { bounds, counts, sum, exemplars = {} }: HistogramValue,
  format: MetricsFormat
): string {
  let text = ''
  let count = 0
  for (const [bucket, more] of counts.entries()) {
    count += more
    const le = printBound(bounds[bucket], format)
    const exemplar = format === 'openmetrics' ? printExemplar(exemplars[bucket]) : ''
    text += `${name}_bucket${printLabels({ ...labels, le })} ${count}${exemplar}\n`
  }
  const series = printLabels(labels)
  return `${text}${name}_sum${series} ${sum}\n${name}_count${series} ${count}\n`
}

/** OpenMetrics requires a decimal point in every bound. */
function printBound (bound: number | undefined, format: MetricsFormat): string {
  if (bound === undefined) return '+Inf'
  return format === 'openmetrics' && Number.isInteger(bound) ? `${bound}.0` : String(bound)
}

function printExemplar (exemplar: Exemplar | undefined): string {
  if (exemplar === undefined) return ''
  const { traceId, spanId, value, atMs } = exemplar
  return ` # ${printLabels({ trace_id: traceId, span_id: spanId })} ${value} ${atMs / 1000}`
}
