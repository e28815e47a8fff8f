/** Separates the endpoints of the admin API from the others. */

import { adminRows } from '../../pipelines/admin.ts'

const adminPaths = new Set(adminRows.map(({ path }) => path))

/**
 * Returns true for an endpoint of the admin API: it is for sessions and admin keys, and no scope of a key of
 * the API names it.
 */
export function isOfAdmin ({ path }: { readonly path: string }): boolean {
  return adminPaths.has(path)
}
