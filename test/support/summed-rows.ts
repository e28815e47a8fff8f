/** Sums of usage records, added up one by one: the expected result of every report. */

import { namesOf } from '../../lib/stores/name-rollups.ts'
import { bucketOf, Durations } from '../../lib/stores/percentiles.ts'
import { amounts, dimensionsOf, isSummed, rollupSums } from '../../lib/stores/usage-rollups.ts'
import { planParts, type RecordBounds } from '../../lib/usage/plan-parts.ts'
import { usageParts, type PartGrouping, type PartsPlan } from '../../lib/usage/usage-parts.ts'
import type { TimeRange } from '../../lib/core/day.ts'
import { sql, type RawBuilder } from 'kysely'
import { attributionNames, type AttributionName } from '../../schemas/admin/usage.ts'
import { groupOf } from '../../lib/usage/usage-report.ts'
import type { CallOrigin } from '../../lib/usage/call-filter.ts'
import type { Database } from '../../lib/stores/database.ts'
import type { UsageRow } from '../../lib/stores/tables.ts'

const dayMs = 86_400_000

/** Sums of each group, by the values of its groupings. */
export type Sums = Readonly<Record<string, unknown>>

export interface SumQuestion {
  readonly period: TimeRange
  readonly origin: CallOrigin
  readonly by: readonly PartGrouping[]
  readonly nowMs: number
  readonly bounds?: RecordBounds
  /** The names listed separately when sums are read. Default: all. */
  readonly listed?: readonly string[] | undefined
}

/** @param projects of keys, by id */
export function sumsOfRows (
  rows: readonly UsageRow[],
  projects: ReadonlyMap<string, string>,
  { period, origin, by, listed }: SumQuestion
): Sums {
  const groups = new Map<string, { sums: number[], latencies: Durations, firstBytes: Durations }>()
  for (const row of rows.filter(isSummed.of)) {
    const { end_user: users, session: sessions, tag: tags } = namesOf(row)
    const [key = '', model = '', provider = '', endpoint = ''] = dimensionsOf(row)
    const project = endpoint === 'mirror' ? 'mirror' : (projects.get(key) ?? 'default')
    const isIn = (values: readonly string[] | undefined, own: readonly string[]): boolean =>
      values?.some(value => own.includes(value)) ?? true
    if (row.at_ms < period.fromMs || row.at_ms >= period.untilMs) continue
    if (
      ![
        [origin.projects, [project]],
        [origin.keys, [key]],
        [origin.models, [model]],
        [origin.providers, [provider]],
        [origin.endpoints, [endpoint]],
        [origin.endUsers, users],
        [origin.sessions, sessions],
        [origin.tags, tags]
      ].every(([values, own]) => isIn(values, own ?? []))
    ) {
      continue
    }
    const values: Readonly<Record<PartGrouping, readonly string[]>> = {
      project: [project],
      key: [key],
      model: [model],
      provider: [provider],
      endpoint: [endpoint],
      day: [String(row.at_ms - (row.at_ms % dayMs))],
      end_user: users.length === 0 ? [''] : users,
      session: sessions.length === 0 ? [''] : sessions,
      tag: tags.length === 0 ? [''] : tags
    }
    const valuesBy = (grouping: PartGrouping): readonly string[] => (
      listed === undefined || !isName(grouping)
        ? values[grouping]
        : values[grouping].map(value => (listed.includes(value) ? value : 'null'))
    )
    const names = by.reduce<string[][]>(
      (all, grouping) => all.flatMap(name => valuesBy(grouping).map(value => [...name, value])),
      [[]]
    )
    for (const name of names.map(name => name.join('|'))) {
      const group = groups.get(name) ?? {
        sums: rollupSums.map(() => 0),
        latencies: new Durations(),
        firstBytes: new Durations()
      }
      groups.set(name, group)
      for (const [index, sum] of rollupSums.entries()) {
        group.sums[index] = (group.sums[index] ?? 0) + amounts[sum].of(row)
      }
      if (row.outcome !== 'ok') continue
      group.latencies.add(bucketOf(row.duration_ms), 1)
      if (row.first_byte_ms !== null) group.firstBytes.add(bucketOf(row.first_byte_ms), 1)
    }
  }
  return Object.fromEntries(
    [...groups].map(([name, { sums, latencies, firstBytes }]) => [
      name,
      [...sums, latencies.text(), firstBytes.text()]
    ])
  )
}

function isName (grouping: PartGrouping): grouping is AttributionName {
  return attributionNames.some(name => name === grouping)
}

const columns: Readonly<Record<PartGrouping, RawBuilder<unknown>>> = {
  project: sql.ref('record.project_id'),
  key: sql.ref('record.key_id'),
  model: sql.ref('record.model'),
  provider: sql.ref('record.provider'),
  endpoint: sql.ref('record.endpoint'),
  day: sql.raw(`record.from_ms - record.from_ms % ${dayMs}`),
  end_user: sql.ref('record.end_user'),
  session: sql.ref('record.session'),
  tag: sql.ref('record.tag')
}

/** Reads the same from a store by days, as its reports do. */
export async function sumsOfStore (
  { query }: Database,
  question: SumQuestion
): Promise<{ readonly sums: Sums, readonly plan: PartsPlan }> {
  const { by, listed } = question
  const plan = await planParts(query, { ...question, smallestMs: dayMs })
  const columnOf = (grouping: PartGrouping): RawBuilder<unknown> => (
    listed === undefined || !isName(grouping)
      ? columns[grouping]
      : groupOf({ by: grouping, ids: listed, more: true })
  )
  const selected = usageParts(query, { ...plan, listed })
    .select(by.map((grouping, index) => columnOf(grouping).as(`group_${index}`)))
    .select(rollupSums.map(name => sql<number>`sum(${sql.ref(name)})`.as(name)))
    .select(
      (['latencies', 'first_bytes'] as const).map(name =>
        sql<string | null>`string_agg(${sql.ref(name)}, ',')`.as(name)
      )
    )
    .having(sql<number>`sum(calls)`, '>', 0)
  const rows = await (
    by.length === 0 ? selected : selected.groupBy(by.map((_, index) => sql.ref(`group_${index}`)))
  ).execute()
  const sums = Object.fromEntries(
    rows.map(row => {
      const name = by.map((_, index) => String(Reflect.get(row, `group_${index}`))).join('|')
      return [
        name,
        [
          ...rollupSums.map(sum => row[sum]),
          new Durations(row.latencies).text(),
          new Durations(row.first_bytes).text()
        ]
      ]
    })
  )
  return { sums, plan }
}
