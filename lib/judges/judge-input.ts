import type { Settings } from '../core/settings.ts'
import type { Services } from '../services.ts'

/**
 * Counts by guard what its module has begun and not ended: functions whose promise is pending, and pipeline
 * stages that are being read. A guard without any has no entry.
 */
export type OpenWork = Map<string, number>

/** What a guard is made of. */
export interface JudgeInput {
  readonly settings: Settings['stages'][number]
  /** Returns the services of the configuration that the guard is part of, once there are calls. */
  readonly services: () => Services
  readonly openWork: OpenWork
}
