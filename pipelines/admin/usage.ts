/** Usage: sums and series, as JSON or as a table. */

import { invalidValue } from '../../lib/core/errors.ts'
import { csvRow } from '../../lib/text/csv.ts'
import { isAttributed, namesIn } from '../../lib/usage/usage-parts.ts'
import { bucketMs, type UsageReportRequest } from '../../lib/usage/usage-report.ts'
import { bucketNames, groupingNames, type Usage } from '../../schemas/admin/usage.ts'
import { report } from './acts.ts'
import { callFilter, flagOf } from './call-filter.ts'
import { csvReply, type AdminHandlers, type AdminRequest } from './handler.ts'

const dayMs = 86_400_000
/** Maximum period with minutes, which are read from the rows of all its calls. */
const maxMinutesMs = 2 * 3_600_000
/**
 * Maximum period of reports by names that callers choose with the default interval of hours: their sums are
 * kept by day.
 */
const maxNamedHoursMs = 2 * dayMs
/** Maximum points of a series. */
const maxBuckets = 1000

export const usageHandlers: AdminHandlers<'GET /admin/v1/usage' | 'GET /admin/v1/usage.csv'> = {
  'GET /admin/v1/usage': async call =>
    await report(call, 'usageReport', await reportRequest(call)),

  'GET /admin/v1/usage.csv': async call => {
    const usage = await report(call, 'usageReport', await reportRequest(call))
    return csvReply('usage.csv', csvOf(usage))
  }
}

/** @throws GatewayError `invalid_value` naming the parameter */
async function reportRequest (
  call: AdminRequest<'GET /admin/v1/usage' | 'GET /admin/v1/usage.csv'>
): Promise<UsageReportRequest> {
  const { search } = call
  const {
    untilMs = Date.now(),
    fromMs = untilMs - dayMs,
    projects,
    keys,
    models,
    providers,
    endpoints,
    endUsers,
    sessions,
    tags
  } = await callFilter(call)
  if (fromMs >= untilMs) throw invalidValue('from_ms', '`from_ms` must be before `until_ms`.')
  const lengthMs = untilMs - fromMs
  const given = search.get('group_by') ?? undefined
  const groupBy = groupingNames.find(name => name === given)
  if (given !== undefined && groupBy === undefined) {
    throw invalidValue('group_by', `\`group_by\` must be one of ${groupingNames.join(', ')}.`)
  }
  const origin = { projects, keys, models, providers, endpoints, endUsers, sessions, tags }
  const isNamed = isAttributed(origin) || (groupBy !== undefined && namesIn([groupBy]).length > 0)
  const maxHoursMs = isNamed ? maxNamedHoursMs : 7 * dayMs
  const wanted =
    search.get('bucket') ?? (lengthMs > maxHoursMs ? 'day' : lengthMs > maxMinutesMs ? 'hour' : 'minute')
  const bucket = bucketNames.find(name => name === wanted)
  if (bucket === undefined) throw invalidValue('bucket', `\`bucket\` must be one of ${bucketNames.join(', ')}.`)
  if (bucket === 'minute' && lengthMs > maxMinutesMs) {
    throw invalidValue('bucket', 'The period has more than 2 hours: use `hour`, or choose a shorter period.')
  }
  if (lengthMs / bucketMs[bucket] > maxBuckets) {
    throw invalidValue('bucket', `The period has more than ${maxBuckets} buckets: use \`day\`, or choose a shorter period.`)
  }
  return {
    period: { fromMs, untilMs },
    origin,
    bucket,
    groupBy,
    compare: flagOf(search, 'compare')
  }
}

/** Prints a row for each bucket and group. */
function csvOf ({ at_ms: times, group_by: groupBy, groups, series }: Usage): string {
  const listed = groupBy === null ? [{ id: null, name: 'all', series }] : groups
  const columns = Object.keys(series) as Array<keyof typeof series> // of the schema
  const head = ['time', ...(groupBy === null ? [] : [groupBy, `${groupBy}_name`]), ...columns]
  const rows = listed.flatMap(group =>
    times.map((at, index) => [
      new Date(at).toISOString(),
      ...(groupBy === null ? [] : [group.id ?? '', group.name]),
      ...columns.map(column => group.series[column][index] ?? '')
    ])
  )
  return [head, ...rows].map(csvRow).join('')
}
