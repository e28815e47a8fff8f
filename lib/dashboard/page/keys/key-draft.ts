/** A key as its form holds it. */

import type { Static } from 'typebox'
import type { RequestBody } from '../api/client.ts'
import type { Key } from '../../../../schemas/admin/keys.ts'
import { draftLimits, limitsOf, type LimitsDraft } from '../limits/limits-draft.ts'

export interface KeyDraft {
  readonly name: string
  readonly project: string
  readonly endpoints: readonly string[]
  readonly models: readonly string[]
  readonly toolServers: readonly string[]
  /** Days from now, a date, or neither. */
  readonly expiry: 'never' | '7' | '30' | '90' | 'date'
  readonly expiryDate: string
  readonly limits: LimitsDraft
}

export function newKeyDraft (project: string): KeyDraft {
  return { name: '', project, endpoints: [], models: [], toolServers: [], expiry: 'never', expiryDate: '', limits: draftLimits(null) }
}

export function draftKey (key: Static<typeof Key>): KeyDraft {
  return {
    name: key.name,
    project: key.project_id,
    endpoints: key.endpoints ?? [],
    models: key.models ?? [],
    toolServers: key.mcp_servers ?? [],
    expiry: key.expires_at_ms === null ? 'never' : 'date',
    expiryDate: key.expires_at_ms === null ? '' : new Date(key.expires_at_ms).toISOString().slice(0, 10),
    limits: draftLimits(key.limits)
  }
}

/** Returns the request that makes the key. An empty list means all. */
export function newKeyOf (draft: KeyDraft): RequestBody<'POST /admin/v1/keys'> {
  const expires = expiryOf(draft)
  const limits = limitsOf(draft.limits)
  return {
    name: draft.name.trim(),
    project_id: draft.project,
    ...draft.endpoints.length > 0 && { endpoints: [...draft.endpoints] },
    ...draft.models.length > 0 && { models: [...draft.models] },
    ...draft.toolServers.length > 0 && { mcp_servers: [...draft.toolServers] },
    ...expires !== null && { expires_at_ms: expires },
    ...limits !== null && { limits }
  }
}

/** Returns the request that changes the key into the draft. */
export function keyChangeOf (draft: KeyDraft, key: Static<typeof Key>): RequestBody<'POST /admin/v1/keys/:key_id'> {
  return {
    name: draft.name.trim(),
    endpoints: listOrNull(draft.endpoints),
    models: listOrNull(draft.models),
    mcp_servers: listOrNull(draft.toolServers),
    // A date is the end of that day: the moment that was there stays when its day was not changed.
    ...draft.expiryDate !== draftKey(key).expiryDate || draft.expiry !== draftKey(key).expiry ? { expires_at_ms: expiryOf(draft) } : {},
    limits: limitsOf(draft.limits, key.limits)
  }
}

function listOrNull (list: readonly string[]): string[] | null {
  return list.length === 0 ? null : [...list]
}

function expiryOf ({ expiry, expiryDate }: KeyDraft): number | null {
  if (expiry === 'never' || (expiry === 'date' && expiryDate === '')) return null
  return expiry === 'date' ? Date.parse(`${expiryDate}T23:59:59.999Z`) : Date.now() + Number(expiry) * 86_400_000
}
