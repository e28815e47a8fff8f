/**
 * Sums over calls: totals and series, by project, key, model, provider, endpoint or attribution.
 */

import { Type, type Static, type TInteger, type TNumber } from 'typebox'
import { recordedUnits, type UnitSum } from '../billed-units.ts'
import { OneOf } from '../nullable.ts'
import { Milliseconds, onlyThese, OrNull, type QueryParameter } from './common.ts'

export const bucketNames = ['minute', 'hour', 'day'] as const

/** Dimensions of attribution, which may have any number of values. */
export const attributionNames = ['end_user', 'session', 'tag'] as const
export type AttributionName = typeof attributionNames[number]
export const groupingNames = [
  'project',
  'key',
  'model',
  'provider',
  'endpoint',
  ...attributionNames
] as const

const Counted = Type.Integer({ minimum: 0 })
const unitSums = Object.fromEntries(recordedUnits.map(({ sum, perUnit, partOf }) => {
  const options = { minimum: 0, ...partOf !== undefined && { description: `Part of \`${partOf}\`.` } }
  return [sum, perUnit === 1 ? Type.Integer(options) : Type.Number(options)]
})) as Record<UnitSum, TNumber | TInteger> // the names are those
const counts = {
  calls: Counted,
  errors: Type.Integer({
    minimum: 0,
    description: 'Calls that ended with an error, a refusal included, or with their process.'
  }),
  cancelled: Type.Integer({ minimum: 0, description: 'Calls whose client disconnected.' }),
  ...unitSums,
  cost_usd: Type.Number({ description: 'Of calls with a known price.' })
}

/** Percentiles in milliseconds, from mergeable histograms: within 10 %. */
export const Percentiles = Type.Object({ p50: Type.Number(), p95: Type.Number(), p99: Type.Number() })
export type Percentiles = Static<typeof Percentiles>

export const UsageTotals = Type.Object({
  ...counts,
  estimated_calls: Type.Integer({
    minimum: 0,
    description: 'Calls whose cost is an estimate: mark the amount.'
  }),
  unpriced_calls: Type.Integer({
    minimum: 0,
    description: 'Calls of unknown cost: their model has no price.'
  }),
  latency_ms: OrNull(Percentiles, 'Duration of complete calls; `null` where none was measured.'),
  first_byte_ms: OrNull(
    Percentiles,
    'Time to the first output of streamed answers; `null` where none was measured.'
  )
})
export type UsageTotals = Static<typeof UsageTotals>

const Series = Type.Array(OrNull(Type.Number()))

/** One list for each measure, with an entry for each of `at_ms` of the answer. */
export const UsageSeries = Type.Object({
  calls: Series,
  errors: Series,
  prompt_tokens: Series,
  completion_tokens: Series,
  cost_usd: Series,
  estimated_calls: Series,
  unpriced_calls: Series,
  latency_p50_ms: Series,
  latency_p95_ms: Series,
  latency_p99_ms: Series,
  first_byte_p50_ms: Series,
  first_byte_p95_ms: Series
})
export type UsageSeries = Static<typeof UsageSeries>

export const UsageGroup = Type.Object({
  id: OrNull(
    Type.String(),
    'Id of the project, key or provider; the model, endpoint, end user, session or tag. `null`: not ' +
    'known, none, or the rest.'
  ),
  name: Type.String({ description: 'For people. May hold any text: show it as text.' }),
  totals: UsageTotals,
  series: UsageSeries
})
export type UsageGroup = Static<typeof UsageGroup>

/** GET /admin/v1/usage */
export const Usage = Type.Object({
  from_ms: Milliseconds,
  until_ms: Milliseconds,
  cut_before_ms: OrNull(
    Milliseconds,
    'Calls before this time are excluded, because there are too many records to read. `null`: nothing is ' +
    'excluded. Reports by day and by end ' +
      'user, session or tag only, optionally filtered by `project` and, for tags, `model`, are read from ' +
      'sums; all other reports by these read the records of at most 31 days and ' +
      '2 million calls.'
  ),
  summed_from_ms: OrNull(
    Milliseconds,
    'While the records of an earlier version are being added to the sums by end user, session and tag: ' +
    'the sums are complete from this time on; for earlier times, ' +
      'records are read. `null`: it is complete, or the answer does not depend on it.'
  ),
  bucket: OneOf([...bucketNames]),
  at_ms: Type.Array(Milliseconds, { description: 'Start of each bucket, in UTC.' }),
  totals: UsageTotals,
  series: UsageSeries,
  previous: OrNull(
    Type.Object({ totals: UsageTotals, series: UsageSeries }),
    'With `compare`: the period of the same length before.'
  ),
  group_by: OrNull(OneOf([...groupingNames])),
  groups: Type.Array(UsageGroup, {
    description:
      'With `group_by`: the highest cost first, then the most calls; at most 50, and the rest as one. ' +
      'A call with several tags counts in each.'
  })
})
export type Usage = Static<typeof Usage>

export const usageFilters = onlyThese({
  project: 'projects',
  key: 'keys, by id',
  model: 'models',
  provider: 'providers',
  endpoint: 'endpoints',
  tag: 'tags: calls with one of them'
})

/** Filters of one name each, as it is: it may have commas. */
export const attributionFilters = {
  end_user: { description: 'Only this end user.', type: 'string' },
  session: { description: 'Only this session.', type: 'string' }
} as const satisfies Record<string, QueryParameter>

export const usageQuery = {
  from_ms: { description: 'First millisecond. Default: 24 hours before `until_ms`.', type: 'integer' },
  until_ms: { description: 'Default: now.', type: 'integer' },
  bucket: {
    description:
      '`minute`, for 2 hours at most, `hour` or `day`. Default: `minute` for up to 2 hours, `hour` for up ' +
      'to 7 days, ' +
      'or 2 days by end user, session or tag.',
    type: 'string'
  },
  group_by: {
    description:
      '`project`, `key`, `model`, `provider`, `endpoint`, `end_user`, `session` or `tag`. ' +
      'For the last three, a limited number of names is distinguished, and the others are grouped as ' +
      '`(other)`.',
    type: 'string'
  },
  compare: { description: 'With `true`, also the period before.', type: 'boolean' },
  ...usageFilters,
  ...attributionFilters
} as const satisfies Record<string, QueryParameter>
