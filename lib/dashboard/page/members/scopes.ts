/** The scopes of admin API keys. */

import type { Scope } from '../../../../schemas/admin/common.ts'

const parts = ['users', 'projects', 'keys', 'usage', 'calls', 'models', 'configuration', 'audit'] as const

export const scopes: readonly Scope[] = parts.flatMap(part => [`${part}:read`, `${part}:write`] as const)

/** Leaves out what is no scope: a field of tags takes any text. */
export function parseScopes (list: readonly string[]): Scope[] {
  return scopes.filter(scope => list.includes(scope))
}
