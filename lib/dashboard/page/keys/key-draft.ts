/** A key as its form stores it. */

import type { Static } from 'typebox'
import type { RequestBody } from '../api/client.ts'
import type { Key } from '../../../../schemas/admin/keys.ts'
import { draftLimits, limitsOf, type LimitsDraft } from '../limits/limits-draft.ts'

export interface KeyDraft {
  readonly name: string
  readonly project: string
  /** Only these are allowed; `null`: all. */
  readonly endpoints: readonly string[] | null
  readonly models: readonly string[] | null
  readonly toolServers: readonly string[] | null
  /** Tool servers by URL; `null`: as for tool servers. */
  readonly toolUrls: boolean | null
  readonly providerObjects: boolean
  /** Guards that inspect its calls; `null`: none of its own. */
  readonly stages: readonly string[] | null
  /** Days from now, a date, or never. */
  readonly expiry: 'never' | '7' | '30' | '90' | 'date'
  readonly expiryDate: string
  readonly limits: LimitsDraft
}

export function newKeyDraft (project: string): KeyDraft {
  return {
    name: '',
    project,
    endpoints: null,
    models: null,
    toolServers: null,
    toolUrls: null,
    providerObjects: false,
    stages: null,
    expiry: 'never',
    expiryDate: '',
    limits: draftLimits(null)
  }
}

export function draftKey (key: Static<typeof Key>): KeyDraft {
  return {
    name: key.name,
    project: key.project_id,
    endpoints: key.endpoints,
    models: key.models,
    toolServers: key.mcp_servers,
    toolUrls: key.mcp_urls === namesAllServers(key.mcp_servers) ? null : key.mcp_urls,
    providerObjects: key.provider_objects,
    stages: key.stages,
    expiry: key.expires_at_ms === null ? 'never' : 'date',
    expiryDate: key.expires_at_ms === null ? '' : new Date(key.expires_at_ms).toISOString().slice(0, 10),
    limits: draftLimits(key.limits)
  }
}

/** Returns true if tool servers may also be named by URL, unless the key states otherwise. */
export function namesAllServers (toolServers: readonly string[] | null): boolean {
  return toolServers === null || toolServers.includes('*')
}

export function newKeyOf (draft: KeyDraft): RequestBody<'POST /admin/v1/keys'> {
  const expires = expiryOf(draft)
  const limits = limitsOf(draft.limits)
  return {
    name: draft.name.trim(),
    project_id: draft.project,
    ...draft.endpoints !== null && { endpoints: [...draft.endpoints] },
    ...draft.models !== null && { models: [...draft.models] },
    ...draft.toolServers !== null && { mcp_servers: [...draft.toolServers] },
    ...draft.toolUrls !== null && { mcp_urls: draft.toolUrls },
    ...draft.providerObjects && { provider_objects: true },
    ...draft.stages !== null && { stages: [...draft.stages] },
    ...expires !== null && { expires_at_ms: expires },
    ...limits !== null && { limits }
  }
}

/**
 * Returns the request that changes the key into the draft. It has only what differs, so that changes that
 * others made since the key was read stay.
 */
export function keyChangeOf (
  draft: KeyDraft,
  key: Static<typeof Key>
): RequestBody<'POST /admin/v1/keys/:key_id'> {
  const before = draftKey(key)
  const differs = (...fields: ReadonlyArray<keyof KeyDraft>): boolean =>
    fields.some(field => JSON.stringify(draft[field]) !== JSON.stringify(before[field]))
  return {
    ...differs('name') && { name: draft.name.trim() },
    ...differs('endpoints') && { endpoints: draft.endpoints && [...draft.endpoints] },
    ...differs('models') && { models: draft.models && [...draft.models] },
    // Servers decide about URLs as well.
    ...differs('toolServers', 'toolUrls') && {
      mcp_servers: draft.toolServers && [...draft.toolServers],
      mcp_urls: draft.toolUrls
    },
    ...differs('providerObjects') && { provider_objects: draft.providerObjects },
    ...differs('stages') && { stages: draft.stages && [...draft.stages] },
    // A date is the end of that day: the moment that was there stays when its day was not changed.
    ...differs('expiry', 'expiryDate') && { expires_at_ms: expiryOf(draft) },
    ...differs('limits') && { limits: limitsOf(draft.limits) }
  }
}

function expiryOf ({ expiry, expiryDate }: KeyDraft): number | null {
  if (expiry === 'never' || (expiry === 'date' && expiryDate === '')) return null
  return expiry === 'date'
    ? Date.parse(`${expiryDate}T23:59:59.999Z`)
    : Date.now() + Number(expiry) * 86_400_000
}
