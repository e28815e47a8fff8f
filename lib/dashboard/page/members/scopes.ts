/** The scopes of admin API keys. */

import { scopeNames } from '../../../../schemas/admin/scope-names.ts'
import type { Scope } from '../../../../schemas/admin/common.ts'

export const scopes: readonly Scope[] = scopeNames

/** Leaves out what is no scope: a field of tags takes any text. */
export function parseScopes (list: readonly string[]): Scope[] {
  return scopes.filter(scope => list.includes(scope))
}
