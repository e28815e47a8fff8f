/** Descriptions of the roles. */

import type { Role } from '../../../../schemas/admin/common.ts'

export interface RoleChoice { readonly value: Role, readonly label: string, readonly hint: string }

const roles: readonly RoleChoice[] = [
  { value: 'viewer', label: 'Viewer', hint: 'Sees the numbers of their projects.' },
  { value: 'member', label: 'Member', hint: 'Makes keys for their projects, and uses the playground.' },
  { value: 'admin', label: 'Admin', hint: 'Manages projects, keys and people, and sees the configuration.' },
  { value: 'owner', label: 'Owner', hint: 'May do everything, and make other owners.' }
]

/** @param withOwner true for owners: only they can create owners */
export function roleChoices (withOwner: boolean): readonly RoleChoice[] {
  return withOwner ? roles : roles.filter(({ value }) => value !== 'owner')
}
