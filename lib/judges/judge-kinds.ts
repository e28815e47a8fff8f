/** The kinds of stages that take their time. A new kind is a row here and in `schemas/config/stages`. */

import { openModule } from './own-module.ts'
import { openWebhook } from './webhook.ts'
import type { Settings } from '../core/settings.ts'
import type { Judge } from '../guards/text-judge.ts'
import type { Services } from '../services.ts'
import type { StageKind } from '../../schemas/config/stages.ts'

export interface JudgeInput {
  readonly settings: Settings['stages'][number]
  /** Returns the services of the configuration that the stage is part of, once there are calls. */
  readonly services: () => Services
}

/** Rejects where the stage cannot be used. */
type OpenJudge = (input: JudgeInput) => Judge | Promise<Judge>

export const judgeKinds: Readonly<Record<Exclude<StageKind, 'pattern'>, OpenJudge>> = {
  webhook: ({ settings }) => openWebhook(settings),
  module: async ({ settings }) => await openModule(settings)
}
