import type { Settings } from '../core/settings.ts'
import type { Services } from '../services.ts'

/** What a stage is made of. */
export interface JudgeInput {
  readonly settings: Settings['stages'][number]
  /** Returns the services of the configuration that the stage is part of, once there are calls. */
  readonly services: () => Services
}
