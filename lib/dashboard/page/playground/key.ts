/**
 * The key of the playground: valid for an hour, kept in memory, renewed when it expires, and revoked when its
 * user signs out or leaves the page.
 */

import { api, type Answer } from '../api/client.ts'
import { beforeSignOut } from '../state/session.ts'

const marginMs = 60_000
const kept = new Map<string, Answer<'POST /admin/v1/playground/key'>>()

addEventListener('pagehide', () => void revokeKeys())
beforeSignOut(revokeKeys)

/** Returns the headers of a call of the project. */
export async function callHeaders (project: string): Promise<Record<string, string>> {
  const present = kept.get(project)
  const usable = present !== undefined && present.expires_at_ms - marginMs > Date.now()
  const key = usable ? present : await api('POST /admin/v1/playground/key', { body: { project_id: project } })
  kept.set(project, key)
  return { authorization: `Bearer ${key.secret}` }
}

async function revokeKeys (): Promise<void> {
  const keys = [...kept.values()]
  kept.clear()
  // Whatever fails here ends by itself within the hour.
  await Promise.allSettled(
    keys.map(
      async ({ key_id }) => await api('DELETE /admin/v1/keys/:key_id', { at: { key_id }, keepalive: true })
    )
  )
}
