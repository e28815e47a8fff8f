/**
 * The kinds of asynchronous guards: a service, a model or a module. A new kind is a row here and in
 * `schemas/config/stages`.
 */

import { openModeration } from './moderation.ts'
import { openModule } from './own-module.ts'
import { openPresidio } from './presidio.ts'
import { openPromptInjection } from './prompt-injection.ts'
import { openWebhook } from './webhook.ts'
import type { Judge } from '../guards/text-judge.ts'
import type { JudgeKind } from '../../schemas/config/stages.ts'
import type { JudgeInput } from './judge-input.ts'

/** Rejects if the guard cannot be used. */
type OpenJudge = (input: JudgeInput) => Judge | Promise<Judge>

export const judgeKinds: Readonly<Record<JudgeKind, OpenJudge>> = {
  moderation: openModeration,
  prompt_injection: openPromptInjection,
  presidio: ({ settings }) => openPresidio({ settings }),
  webhook: ({ settings }) => openWebhook(settings),
  module: async ({ settings, openWork }) => await openModule(settings, openWork)
}
