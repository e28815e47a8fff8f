/**
 * Opens the configured guards that wait for a service, a model or a module. A new kind is a row of
 * `judgeKinds` here and one in `schemas/config/guards`.
 */

import { ConfigError } from '../config/problems.ts'
import { describeError } from '../text/describe-error.ts'
import { guardKindOf, isJudgeKind, type JudgeKind } from '../../schemas/config/guards.ts'
import { closeJudges, type Judge } from '../guards/text-judge.ts'
import { openModeration } from './moderation.ts'
import { openModule } from './own-module.ts'
import { openPresidio } from './presidio.ts'
import { openPromptInjection } from './prompt-injection.ts'
import { openWebhook } from './webhook.ts'
import type { Settings } from '../core/settings.ts'
import type { JudgeInput } from './judge-input.ts'

/** Rejects if the guard cannot be used. */
type OpenJudge = (input: JudgeInput) => Judge | Promise<Judge>

const judgeKinds: Readonly<Record<JudgeKind, OpenJudge>> = {
  moderation: openModeration,
  prompt_injection: openPromptInjection,
  presidio: ({ settings }) => openPresidio({ settings }),
  webhook: ({ settings }) => openWebhook(settings),
  module: async ({ settings, openWork }) => await openModule(settings, openWork)
}

/**
 * Returns the judges of the guards that have one, by name.
 *
 * @throws ConfigError for a guard that cannot be used; those already opened are closed
 */
export async function openJudges (
  { guards }: Settings,
  input: Omit<JudgeInput, 'settings'>
): Promise<ReadonlyMap<string, Judge>> {
  const judges = new Map<string, Judge>()
  for (const settings of guards) {
    const kind = guardKindOf(settings.use)
    if (!isJudgeKind(kind)) continue
    try {
      judges.set(settings.name, await judgeKinds[kind]({ settings, ...input }))
    } catch (error) {
      await closeJudges(judges)
      const message = `cannot be used: ${describeError(error)}`
      throw new ConfigError([
        { file: settings.use, line: 0, column: 0, path: `stages.${settings.name}`, message }
      ])
    }
  }
  return judges
}
