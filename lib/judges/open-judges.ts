/** Opens the configured guards that wait for a service, a model or a module. */

import { ConfigError } from '../config/problems.ts'
import { describeError } from '../text/describe-error.ts'
import { guardKindOf, isJudgeKind } from '../../schemas/config/stages.ts'
import { closeJudges } from './close-judges.ts'
import { judgeKinds } from './judge-kinds.ts'
import type { Settings } from '../core/settings.ts'
import type { Judge } from '../guards/text-judge.ts'
import type { JudgeInput } from './judge-input.ts'

/**
 * Returns the judges of the guards that have one, by name.
 *
 * @throws ConfigError for a guard that cannot be used; those already opened are closed
 */
export async function openJudges (
  { stages }: Settings,
  input: Omit<JudgeInput, 'settings'>
): Promise<ReadonlyMap<string, Judge>> {
  const judges = new Map<string, Judge>()
  for (const settings of stages) {
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
