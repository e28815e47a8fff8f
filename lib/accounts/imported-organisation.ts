/** The keys, projects and people of another gateway, in the form they will have here. */

import type { Role } from '../../schemas/admin/common.ts'
import type { PartyLimits } from '../core/key.ts'

export interface ImportedOrganisation {
  readonly projects: readonly ImportedProject[]
  readonly users: readonly ImportedUser[]
  readonly keys: readonly ImportedKey[]
}

/** Cost of calls at the source. Amounts of one party do not overlap: a budget adds up those in its period. */
export interface ImportedSpending {
  /** The start of a period. */
  readonly fromMs: number
  readonly nanoUsd: number
}

/** Usage of the calls to one model on one day at the source. */
export interface ImportedDay {
  /** Its first millisecond, UTC. */
  readonly atMs: number
  readonly model: string
  readonly provider: string
  readonly calls: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly nanoUsd: number
}

interface Party {
  readonly name: string
  /** Absent: all. */
  readonly models?: readonly string[]
  /** Names of guards that inspect all calls; absent keeps those set here. */
  readonly stages?: readonly string[]
  readonly limits?: PartyLimits
  readonly createdAtMs: number
  readonly spent: readonly ImportedSpending[]
}

export interface ImportedProject extends Party {
  /** SHA-256 of its id at the source, in base64, like all source ids. */
  readonly sourceId: string
  /** Source ids of users. */
  readonly members: readonly string[]
}

export interface ImportedUser {
  readonly sourceId: string
  readonly name: string
  readonly email?: string
  readonly role: Role
  readonly createdAtMs: number
  /** For all keys that they own together. */
  readonly limits?: PartyLimits
  /** What counts toward their budgets in addition to their keys' spending. */
  readonly spent?: readonly ImportedSpending[]
}

export interface ImportedKey extends Party {
  /** SHA-256 of the key, base64. */
  readonly digest: string
  /** The digest before the last rotation, while it is valid. */
  readonly previous?: { readonly digest: string, readonly untilMs: number }
  readonly hint?: string
  /** Absent: all. */
  readonly endpoints?: readonly string[]
  /** Absent: all. */
  readonly mcpServers?: readonly string[]
  readonly expiresAtMs?: number
  /** Source id of its project; absent for the default project. */
  readonly project?: string
  /** Source id of the user who created and owns it. */
  readonly createdBy?: string
  readonly isBlocked: boolean
  /**
   * Earlier usage of its calls, by day, not included in `spent`. At most one entry for each day, model and
   * provider.
   */
  readonly history?: readonly ImportedDay[]
}
