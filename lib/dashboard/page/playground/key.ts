/** The key of the playground: made for an hour, kept in memory, and made again when it has ended. */

import { api } from '../api/client.ts'

const marginMs = 60_000
const kept = new Map<string, { readonly secret: string, readonly expiresAtMs: number }>()

/** Returns the headers of a call of the project. */
export async function callHeaders (project: string): Promise<Record<string, string>> {
  const present = kept.get(project)
  if (present !== undefined && present.expiresAtMs - marginMs > Date.now()) return { authorization: `Bearer ${present.secret}` }
  const { secret, expires_at_ms } = await api('POST /admin/v1/playground/key', { body: { project_id: project } })
  kept.set(project, { secret, expiresAtMs: expires_at_ms })
  return { authorization: `Bearer ${secret}` }
}
