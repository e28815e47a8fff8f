/** Describes surprising effects of valid entries, for `headgate check`. */

import { guardActionOf } from '../../schemas/config/guards.ts'
import { createModels } from '../models/create-models.ts'
import { boundedSource } from '../text/bounded-pattern.ts'
import { createReport, type Report } from './report.ts'
import { readFile, type ConfigSources } from './read-settings.ts'
import type { Problem } from './problems.ts'
import type { Settings } from '../core/settings.ts'

/** Returns notes on settings, in file order. */
export function noteEffects (sources: ConfigSources, settings: Settings): readonly Problem[] {
  const { warn, warnings } = createReport(readFile(sources), new Map())
  noteStages(settings, warn)
  noteShares(settings, warn)
  return warnings()
}

function noteStages ({ guards }: Settings, note: Report['warn']): void {
  for (const [index, { use, at, action, stream, patterns = [] }] of guards.entries()) {
    for (const [position, pattern] of patterns.entries()) {
      if (typeof pattern === 'string') continue
      const { match, maxLength } = pattern
      const read = boundedSource(match, maxLength)
      if (read === match) continue
      note(
        ['stages', index, 'patterns', position, 'match'],
        `is read as \`${read}\`: \`max_length\` bounds repetitions`
      )
    }
    const seesAnswers = at.some(point => point !== 'request')
    if (stream === 'complete' && seesAnswers && guardActionOf({ use, action }) !== 'report') {
      note(['stages', index, 'stream'], 'holds every streamed answer until all of it has been inspected')
    }
  }
}

/** Notes routes whose weights do not determine how calls are divided. */
function noteShares (settings: Settings, note: Report['warn']): void {
  const enabled = new Set(settings.providers.filter(({ enabled }) => enabled).map(({ id }) => id))
  const models = createModels(settings, enabled)
  for (const { name, affinity } of settings.routes) {
    const routes = models.routes(name)
    const { by, bySession } = routes[0]?.ranked ?? {}
    if (routes.length < 2 || by !== 'weight' || bySession !== true) continue
    note(
      ['routes', name, affinity === undefined ? 'strategy' : 'affinity'],
      'weights apply per session, because affinity is on; set `affinity: false` to apply them per call'
    )
  }
}
