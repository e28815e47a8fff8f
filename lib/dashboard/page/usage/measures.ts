/** The measures of the overview: the lines of each, together and by group. */

import type { Answer } from '../api/client.ts'
import { dollars, duration, shortCount, shortDuration } from '../format/numbers.ts'
import type { ChartProps, ChartSeries } from '../parts/chart-props.ts'

export type Usage = Answer<'GET /admin/v1/usage'>
type Series = Usage['series']
type Values = ReadonlyArray<number | null>

export interface Measure {
  readonly title: string
  readonly kind: ChartProps['kind']
  readonly format: (value: number) => string
  readonly axisFormat?: (value: number) => string
  /** The series of all calls together, in stacking order. */
  readonly parts: ReadonlyArray<{ readonly label: string, readonly values: (series: Series) => Values }>
  /** The series of a group, and of the previous period. */
  readonly one: (series: Series) => Values
}

export const measures: readonly Measure[] = [
  {
    title: 'Spend',
    kind: 'bars',
    format: dollars,
    parts: [{ label: 'Spend', values: series => series.cost_usd }],
    one: series => series.cost_usd
  },
  {
    title: 'Calls',
    kind: 'bars',
    format: shortCount,
    axisFormat: wholeCount,
    parts: [
      {
        label: 'Succeeded',
        values: ({ calls, errors }) => calls.map((count, index) => (count ?? 0) - (errors[index] ?? 0))
      },
      { label: 'Errors', values: series => series.errors }
    ],
    one: series => series.calls
  },
  {
    title: 'Tokens',
    kind: 'bars',
    format: shortCount,
    axisFormat: wholeCount,
    parts: [
      { label: 'Prompt', values: series => series.prompt_tokens },
      { label: 'Completion', values: series => series.completion_tokens }
    ],
    one: ({ prompt_tokens, completion_tokens }) =>
      prompt_tokens.map((count, index) => (count ?? 0) + (completion_tokens[index] ?? 0))
  },
  {
    title: 'Errors',
    kind: 'bars',
    format: shortCount,
    axisFormat: wholeCount,
    parts: [{ label: 'Errors', values: series => series.errors }],
    one: series => series.errors
  },
  {
    title: 'Latency',
    kind: 'lines',
    format: duration,
    axisFormat: shortDuration,
    parts: [
      { label: 'p50', values: series => series.latency_p50_ms },
      { label: 'p95', values: series => series.latency_p95_ms },
      { label: 'p99', values: series => series.latency_p99_ms }
    ],
    one: series => series.latency_p95_ms
  },
  {
    title: 'Time to first token',
    kind: 'lines',
    format: duration,
    axisFormat: shortDuration,
    parts: [
      { label: 'p50', values: series => series.first_byte_p50_ms },
      { label: 'p95', values: series => series.first_byte_p95_ms }
    ],
    one: series => series.first_byte_p95_ms
  }
]

const colours = [1, 2, 3, 4, 5] as const

/** Returns the colour of a group by its position in the list; those after the fifth share one. */
export function groupColour (index: number): ChartSeries['colour'] {
  return colours[index] ?? 6
}

/** Returns the series of a chart: the groups, or all calls together with the previous period. */
export function seriesOf (
  { parts, one, kind, title }: Measure,
  usage: Usage,
  byGroup: boolean
): readonly ChartSeries[] {
  if (!byGroup || usage.groups.length === 0) {
    const error = title === 'Errors' ? 5 : undefined
    const now = parts.map(({ label, values }, index): ChartSeries => ({
      label,
      values: values(usage.series),
      colour: error ?? (label === 'Errors' ? 5 : groupColour(index))
    }))
    return usage.previous === null || usage.previous.totals.calls === 0
      ? now
      : [...now, { label: 'Period before', values: one(usage.previous.series), colour: 'before' }]
  }
  const named = usage.groups
    .slice(0, colours.length)
    .map(({ name, series }, index): ChartSeries => ({
      label: name,
      values: one(series),
      colour: groupColour(index)
    }))
  const rest = usage.groups.slice(colours.length)
  if (rest.length === 0 || kind === 'lines') return named
  const sum = usage.at_ms.map((_, index) =>
    rest.reduce((total, { series }) => total + (one(series)[index] ?? 0), 0)
  )
  return [...named, { label: `${rest.length} others`, values: sum, colour: 6 }]
}

/** Formats a count for an axis, whose steps may be fractions. */
function wholeCount (value: number): string {
  return Number.isInteger(value) ? shortCount(value) : ''
}
