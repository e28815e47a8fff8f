/** The scopes of admin keys. */

import { scopeNames } from '../../../../schemas/admin/scope-names.ts'
import type { Scope } from '../../../../schemas/admin/common.ts'

export const scopes: readonly Scope[] = scopeNames

/** Drops anything that is not a scope: a tag field accepts any text. */
export function parseScopes (list: readonly string[]): Scope[] {
  return scopes.filter(scope => list.includes(scope))
}
