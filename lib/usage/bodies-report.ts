/** Reads the stored request and answer of a call. */

import type { Kysely } from 'kysely'
import type { CallBodies, CallBody } from '../../schemas/admin/call-bodies.ts'
import { readLongText } from '../stores/long-texts.ts'
import type { UseStore } from '../stores/use-store.ts'
import type { Tables } from '../stores/tables.ts'
import { findCall } from './calls-report.ts'

export interface FoundBodies extends Pick<CallBodies, 'id' | 'request_id'> {
  /** The project that keeps them. */
  readonly project_id: string
  /** Absent if they cannot be read; `state` tells why. */
  readonly bodies?: CallBodies
  readonly state: string
}

/**
 * Finds the bodies of a call by record id or request id; `undefined` if there is no such call in these
 * projects.
 */
export async function findBodies (
  query: Kysely<Tables>,
  id: string,
  projects: readonly string[] | undefined,
  nowMs: number
): Promise<FoundBodies | undefined> {
  const call = await findCall(query, id, { projects }, nowMs)
  if (call === undefined) return undefined
  const found = {
    id: call.id,
    request_id: call.request_id,
    project_id: call.project_id,
    state: call.bodies.state
  }
  const row =
    call.bodies.state === 'kept'
      ? await query.selectFrom('call_bodies').selectAll().where('id', '=', call.id).executeTakeFirst()
      : undefined
  if (row === undefined) return found
  const use: UseStore = async work => await work()
  const read = async (inRow: string | null): Promise<CallBody | null> => {
    const text = inRow === null ? undefined : await readLongText(query, use, row.id, inRow)
    return text === undefined ? null : JSON.parse(text) as CallBody // written by this gateway
  }
  const { readable_by, expires_at_ms } = row
  const bodies = {
    id: call.id,
    request_id: call.request_id,
    readable_by,
    expires_at_ms,
    request: await read(row.request),
    answer: await read(row.answer)
  }
  return { ...found, project_id: row.project_id, bodies }
}
