/** How a store names end users: by the caller's names, or by digests of them. */

import { createHmac, hkdfSync } from 'node:crypto'
import { keptName } from '../validation/attribution.ts'
import { defaultProject } from '../core/key.ts'
import { storeSecret } from './store-secret.ts'
import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** Returns the digest of an end user of a project: 22 characters that do not reveal the name. */
export type EndUserDigest = (projectId: string, endUser: string) => string

/**
 * Creates the digest function of a store. Digests are keyed, because names can be guessed.
 *
 * @param secret of the store
 */
export function endUserDigest (secret: Buffer): EndUserDigest {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'budgets of end users', 32))
  return (projectId, endUser) => (
    createHmac('sha256', key).update(`${projectId}\0${endUser}`).digest('base64url').slice(0, 22)
  )
}

/**
 * Lists the names under which records may have an end user: the given name, the stored one, and its digest in
 * each project.
 */
export async function recordedNames (query: Kysely<Tables>, endUser: string): Promise<string[]> {
  const digest = endUserDigest(await storeSecret(query))
  const projects = await query.selectFrom('projects').select('id').execute()
  const ids = new Set([defaultProject, ...projects.map(({ id }) => id)])
  const kept = keptName(endUser)
  return [...new Set([endUser, kept]), ...[...ids].map(id => digest(id, kept))].filter(name => name !== '')
}
