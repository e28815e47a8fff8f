import type { GuardSettings } from '../core/settings.ts'
import type { Services } from '../services.ts'

/**
 * Unfinished work by guard: pending promises of its module, and pipeline stages being read. Guards without
 * any have no entry.
 */
export type OpenWork = Map<string, number>

/** Input for creating a guard. */
export interface JudgeInput {
  readonly settings: GuardSettings
  /**
   * Returns the services of the guard's configuration. Not while guards are opened: only when a call is
   * served.
   */
  readonly services: () => Services
  readonly openWork: OpenWork
}
