/** Reads calls from the usage rows: pages of calls, one call in full, and recently ended calls. */

import { sql, type Kysely } from 'kysely'
import { byUnitColumn } from '../../schemas/billed-units.ts'
import type { CallDetail, CallPage, CallSummary } from '../../schemas/admin/calls.ts'
import { defaultMessage } from '../core/errors.ts'
import { beyond, cursorBefore, pageOf, type PageRequest } from '../stores/pages.ts'
import type { Tables, UsageRow } from '../stores/tables.ts'
import { readSteps } from './call-steps.ts'
import { timelineOf } from './call-timeline.ts'
import { inspectionsOf, readNotes } from './guard-notes.ts'
import { filteredCalls, narrowed, projectOfRecord, type CallFilter, type CallQuery } from './call-filter.ts'
import { searchBack } from './search-back.ts'
import { isRowId } from '../text/ids.ts'

const summaryColumns = [
  'id',
  'call_id',
  'at_ms',
  'key_id',
  'endpoint',
  'requested_model',
  'model',
  'provider',
  'outcome',
  'status',
  'error_code',
  'streamed',
  'attempts',
  'prompt_tokens',
  'completion_tokens',
  'cost_nano_usd',
  'estimated',
  'cached',
  'duration_ms',
  'first_byte_ms',
  'end_user',
  'session',
  'tags'
] as const satisfies ReadonlyArray<keyof UsageRow>

interface Names {
  readonly project_id: string
  readonly key_name: string | null
}
type SummaryRow = Pick<UsageRow, typeof summaryColumns[number]> & Names
type DetailRow = UsageRow & Names

/**
 * Newest records searched for ended calls. At 50 calls per second this finds calls that took three minutes
 * longer than others.
 */
const maxScannedRows = 10_000

/** Lists calls, newest first: one page, or what a search of a few seconds finds. */
export async function listCalls (
  query: Kysely<Tables>,
  filter: CallFilter,
  page: PageRequest,
  clock?: () => number
): Promise<CallPage> {
  const rows: SummaryRow[] = []
  const untilMs =
    page.after === undefined ? filter.untilMs : Math.min(page.after.ms + 1, filter.untilMs ?? Infinity)
  const searchedFromMs = await searchBack(
    query,
    { ...filter, untilMs },
    async stretch => {
      const records = summaries(filteredCalls(query, { ...filter, ...stretch })).where(
        beyond(page, 'record.at_ms', 'record.id', 'desc')
      )
      rows.push(
        ...(await records
          .orderBy('record.at_ms', 'desc')
          .orderBy('record.id', 'desc')
          .limit(page.limit + 1 - rows.length)
          .execute())
      )
      return rows.length > page.limit
    },
    clock
  )
  const found = pageOf(rows, page, ({ at_ms: ms, id }) => ({ ms, id }), summaryOf)
  return searchedFromMs === undefined
    ? { ...found, searched_from_ms: null }
    : { ...found, next_cursor: cursorBefore(searchedFromMs), searched_from_ms: searchedFromMs }
}

export interface CallSearch {
  /** Default: all. */
  readonly projects?: readonly string[] | undefined
  /** The time of the call; without it all records are searched. */
  readonly atMs?: number | undefined
  /** The `trace_url` setting. */
  readonly traceUrl?: string | undefined
}

/**
 * Finds a call by record id or request id. Callers choose request ids, so the newest of several calls is
 * returned; a record id always finds its record.
 */
export async function findCall (
  query: Kysely<Tables>,
  id: string,
  { projects, atMs, traceUrl }: CallSearch,
  nowMs = Date.now()
): Promise<CallDetail | undefined> {
  const moment = atMs === undefined ? {} : { fromMs: atMs, untilMs: atMs + 1 }
  const newestBy = async (columns: ReadonlyArray<'id' | 'call_id'>): Promise<DetailRow | undefined> => (
    await withNames(filteredCalls(query, { projects, ...moment })).selectAll('record')
      .where(record => record.or(columns.map(column => record(`record.${column}`, '=', id))))
      .orderBy('record.at_ms', 'desc').limit(1).executeTakeFirst()
  )
  const row = (isRowId(id) ? await newestBy(['id']) : undefined) ?? await newestBy(['id', 'call_id'])
  return row && detailOf(row, await keptOf(query, row, nowMs), traceUrl)
}

/**
 * Returns the state of a call's stored bodies. They cannot be read while they are being stored or deleted.
 */
async function keptOf (
  query: Kysely<Tables>,
  { id }: Pick<UsageRow, 'id'>,
  nowMs: number
): Promise<CallDetail['bodies']> {
  const row = await query
    .selectFrom('call_bodies')
    .select(['state', 'readable_by', 'expires_at_ms'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined || row.state === 'storing') {
    return { state: 'not_kept', readable_by: null, expires_at_ms: null }
  }
  const { readable_by, expires_at_ms } = row
  return {
    state: row.state === 'kept' && expires_at_ms <= nowMs ? 'expired' : row.state,
    readable_by,
    expires_at_ms
  }
}

/** Which ended calls to find. */
export interface LiveQuery {
  readonly afterMs: number
  /** The ids of records found before. */
  readonly seen: ReadonlySet<string>
  readonly limit: number
}

/**
 * Lists calls that ended after a time, oldest first. If there are more than `limit`, returns those accepted
 * last.
 */
export async function endedCalls (
  query: Kysely<Tables>,
  filter: CallFilter,
  { afterMs, seen, limit }: LiveQuery
): Promise<CallSummary[]> {
  const columns = new Set<string>([
    ...summaryColumns,
    ...(filter.values ?? []).map(([name]) => name),
    ...(filter.ranges ?? []).map(([name]) => name)
  ])
  const newest = sql<UsageRow>`(select ${sql.join([...columns].map(name => sql.ref(name)))} from usage order by at_ms desc, id desc limit ${maxScannedRows})`
  const ended = query
    .selectFrom(newest.as('record'))
    .where(sql<boolean>`record.at_ms + record.duration_ms > ${afterMs}`)
  // Keep this order: sorted by end time, SQLite would scan all rows.
  const rows = await summaries(narrowed(ended, filter))
    .limit(limit + seen.size)
    .execute()
  return rows
    .filter(({ id }) => !seen.has(id))
    .slice(0, limit)
    .toSorted((a, b) => endOf(a) - endOf(b))
    .map(summaryOf)
}

function endOf ({ at_ms: atMs, duration_ms: durationMs }: Pick<UsageRow, 'at_ms' | 'duration_ms'>): number {
  return atMs + durationMs
}

function summaries (records: CallQuery) {
  return withNames(records).select(summaryColumns.map(name => `record.${name}` as const))
}

function withNames (records: CallQuery) {
  return records.select([
    projectOfRecord.as('project_id'),
    sql<string | null>`(select name from keys where keys.id = record.key_id)`.as('key_name')
  ])
}

function summaryOf (row: SummaryRow): CallSummary {
  return {
    id: row.id,
    request_id: row.call_id,
    at_ms: row.at_ms,
    key_id: row.key_id,
    key_name: row.key_name ?? /^configured:(.*)/s.exec(row.key_id)?.[1] ?? null,
    project_id: row.project_id,
    endpoint: row.endpoint,
    requested_model: row.requested_model,
    model: row.model,
    provider: row.provider,
    outcome: row.outcome,
    status: row.status,
    error_code: row.error_code,
    streamed: row.streamed === 1,
    attempts: row.attempts,
    prompt_tokens: row.prompt_tokens,
    completion_tokens: row.completion_tokens,
    cost_usd: row.cost_nano_usd === null ? null : row.cost_nano_usd / 1e9,
    estimated: row.estimated === 1,
    cached: row.cached === 1,
    duration_ms: row.duration_ms,
    first_byte_ms: row.first_byte_ms,
    end_user: row.end_user,
    session: row.session,
    // as `usage/usage-row` prints them
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[])
  }
}

function detailOf (
  row: DetailRow,
  bodies: CallDetail['bodies'],
  traceUrl: string | undefined
): CallDetail {
  const steps = readSteps(row)
  return {
    ...summaryOf(row),
    // as `usage/usage-row` prints it
    metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
    turns: row.turns,
    wasted_tokens: row.wasted_tokens,
    wasted_usd: row.wasted_nano_usd === null ? null : row.wasted_nano_usd / 1e9,
    ...byUnitColumn(({ column }) => row[column]),
    image_size: row.image_size,
    image_quality: row.image_quality,
    own_provider_key: row.own_provider_key === 1,
    overhead_ms: steps.overhead_ms ?? null,
    upstream_wait_ms: steps.upstream_wait_ms ?? null,
    upstream_request_id: steps.upstream_request_id ?? null,
    trace_id: steps.trace?.trace_id ?? null,
    trace_url: traceUrl !== undefined && steps.trace?.sampled === true
      ? traceUrl.replace('{trace_id}', steps.trace.trace_id)
      : null,
    error_message:
      row.error_code === null ? null : (steps.error_message ?? defaultMessage(row.error_code) ?? null),
    timeline: timelineOf(row, steps),
    stages: inspectionsOf(readNotes(row.findings)).map(({ tookMs, findings, ...inspection }) => ({
      ...inspection,
      took_ms: tookMs,
      findings: [...findings]
    })),
    candidates: [...(steps.candidates ?? [])],
    bodies
  }
}
