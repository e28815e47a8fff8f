/** The keys, projects and people of another gateway, as they are to be here. */

import type { Role } from '../../schemas/admin/common.ts'
import type { KeyLimits } from '../core/key.ts'

export interface ImportedOrganisation {
  readonly projects: readonly ImportedProject[]
  readonly users: readonly ImportedUser[]
  readonly keys: readonly ImportedKey[]
}

/** What calls cost at the source. Amounts of one party do not overlap: a budget sums those in its period. */
export interface ImportedSpending {
  /** The beginning of a period. */
  readonly fromMs: number
  readonly nanoUsd: number
}

/** What the calls of a day to one model used at the source. */
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
  /** Absent means all. */
  readonly models?: readonly string[]
  /** Names of stages that look at all calls; absent leaves those that are set here. */
  readonly stages?: readonly string[]
  readonly limits?: KeyLimits
  readonly createdAtMs: number
  readonly spent: readonly ImportedSpending[]
}

export interface ImportedProject extends Party {
  /** SHA-256 of its id there, base64, as all source ids. */
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
  /** Of all keys that they own together. */
  readonly limits?: KeyLimits
  /** What counts in their budgets beside what their keys bring. */
  readonly spent?: readonly ImportedSpending[]
}

export interface ImportedKey extends Party {
  /** SHA-256 of the key, base64. */
  readonly digest: string
  /** The digest before the last rotation, while it works. */
  readonly previous?: { readonly digest: string, readonly untilMs: number }
  readonly hint?: string
  /** Absent means all. */
  readonly endpoints?: readonly string[]
  /** Absent means all. */
  readonly mcpServers?: readonly string[]
  readonly expiresAtMs?: number
  /** Source id of its project; absent for the default one. */
  readonly project?: string
  /** Source id of the user who made it, and owns it. */
  readonly createdBy?: string
  readonly isBlocked: boolean
  /**
   * What its calls used before, by day: amounts that are not in `spent`. At most one entry for each day,
   * model and provider.
   */
  readonly history?: readonly ImportedDay[]
}
