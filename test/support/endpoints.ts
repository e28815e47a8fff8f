/** Separates the endpoints of the admin API from the others. */

import { adminRows } from '../../pipelines/admin.ts'

const adminPaths = new Set(adminRows.map(({ path }) => path))

/**
 * Returns true for an endpoint of the admin API: it is for sessions and admin keys, and outside the scopes of
 * API keys.
 */
export function isOfAdmin ({ path }: { readonly path: string }): boolean {
  return adminPaths.has(path)
}
