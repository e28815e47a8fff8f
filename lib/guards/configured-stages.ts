/** The stages of the configuration. */

import { randomBytes } from 'node:crypto'
import { stageActionOf, stageKindOf, type StageAction } from '../../schemas/config/stages.ts'
import { projectIdOf, type ApiKey } from '../core/key.ts'
import { StageFindings } from '../core/stage-findings.ts'
import { boundedPattern } from '../text/bounded-pattern.ts'
import { PatternFilter, builtInPattern, type PatternRule } from './pattern-filter.ts'
import { KeyedPlaceholders } from './keyed-placeholders.ts'
import { LookalikeFilter } from './placeholder-filter.ts'
import { StageJudge, type UnavailableStage } from './stage-judge.ts'
import { looksAt } from './stage-scope.ts'
import type { Placeholders } from '../core/placeholders.ts'
import type { Settings } from '../core/settings.ts'
import type { FilterLayer, ReversibleStages, TextLayer, TextStages } from './text-filter.ts'
import type { Judge } from './text-judge.ts'

export type StageSettings = Settings['stages'][number]

/** The parts of a stage that waits for something before it decides. */
export interface JudgeParts {
  /** The configured stages other than patterns, by name. */
  readonly judges: ReadonlyMap<string, Judge>
  /** Called when one of them could not look at a call. */
  readonly onUnavailable: UnavailableStage
  /** True: callers may know which stages look at their calls. Default: false. */
  readonly exposesNames?: boolean
  /** Names what reversible stages find, 32 bytes. Default: made here. */
  readonly secret?: Buffer | undefined
}

interface FilterStage {
  readonly settings: StageSettings
  readonly rules: readonly PatternRule[]
}

export class ConfiguredStages implements TextStages {
  readonly layers: readonly TextLayer[]
  readonly namesFor: TextStages['namesFor']
  readonly reversible: TextStages['reversible']

  /**
   * Neighbouring patterns look at a text at once, in the order of the configuration. One that masks hides
   * nothing from one before it that refuses.
   *
   * @param parts default: there are only patterns
   * @throws PatternError for a pattern that the configuration should not have passed; Error for a stage that
   *   `parts` does not have
   */
  constructor (settings: Settings['stages'], parts?: JudgeParts) {
    const layers: Array<TextLayer & { readonly group?: FilterStage[] }> = []
    const reversible = reversibleStages(settings.filter(stage => stage.reversible === true), parts?.secret)
    if (reversible !== undefined) {
      this.reversible = reversible
      layers.push(lookalikeLayer(reversible))
    }
    for (const stage of settings) {
      if (stageKindOf(stage.use) === 'pattern') {
        const one = { settings: stage, rules: rulesOf(stage) }
        const group = layers.at(-1)?.group
        const isHiding = actionOf(one) === 'mask' && group?.some(other => actionOf(other) === 'refuse')
        if (group === undefined || isHiding === true) layers.push(patternLayer([one], reversible))
        else group.push(one)
        continue
      }
      const judge = parts?.judges.get(stage.name)
      if (parts === undefined || judge === undefined) {
        throw new Error(`the stage ${stage.name} was not opened: use \`openJudges\` before`)
      }
      layers.push(new StageJudge(stage, judge, parts.onUnavailable))
      const { stages } = judge
      if (stages !== undefined) layers.push({ stages: call => looksAt(stage, call) ? stages : {} })
    }
    this.layers = layers
    if (parts?.exposesNames === true) {
      this.namesFor = call => settings.filter(stage => looksAt(stage, call)).map(({ name }) => name)
    }
  }
}

function reversibleStages (
  stages: readonly StageSettings[],
  secret: Buffer = randomBytes(32)
): ReversibleStages | undefined {
  if (stages.length === 0) return undefined
  const create = (key: ApiKey): Placeholders =>
    new KeyedPlaceholders(secret, { keyId: key.id, projectId: projectIdOf(key) })
  const restores: ReversibleStages['restores'] = call => {
    const looking = stages.filter(stage => looksAt(stage, call))
    if (looking.length === 0) return undefined
    return { forServers: looking.every(({ unmaskFor = [] }) => unmaskFor.includes('server')) }
  }
  return {
    restores,
    placeholdersOf: call => {
      if (restores(call) === undefined) return undefined
      return (call.record.placeholders ??= create(call.key))
    },
    open: (key, sealed) => {
      const placeholders = create(key)
      placeholders.join(sealed)
      return placeholders
    }
  }
}

/**
 * Builds the layer that replaces what looks like a placeholder in requests and results of tools: answers
 * would repeat it, and it would be restored.
 */
function lookalikeLayer ({ placeholdersOf }: ReversibleStages): FilterLayer {
  return {
    filter: (call, points) => {
      if (points.includes('answer') || points.includes('tool_call')) return undefined
      const placeholders = placeholdersOf(call)
      return placeholders && new LookalikeFilter(placeholders, points.includes('tool_result'))
    }
  }
}

function patternLayer (
  group: FilterStage[],
  reversible: ReversibleStages | undefined
): FilterLayer & { readonly group: FilterStage[] } {
  return {
    group,
    filter: (call, points) => {
      const rules = group.flatMap(({ settings, rules }) =>
        settings.at.some(point => points.includes(point)) && looksAt(settings, call) ? rules : []
      )
      const point = points.at(-1)
      return rules.length === 0 || point === undefined
        ? undefined
        : new PatternFilter(
            rules,
            point,
            (call.record.findings ??= new StageFindings()),
            reversible?.placeholdersOf(call)
          )
    }
  }
}

function actionOf ({ settings }: FilterStage): StageAction {
  return stageActionOf(settings)
}

function rulesOf ({ name: stage, use, action, reversible, patterns = [] }: StageSettings): PatternRule[] {
  return patterns.map(given => {
    const own = typeof given === 'string' ? undefined : given
    const label = typeof given === 'string' ? given : given.name
    const pattern = own === undefined ? builtInPattern(label) : boundedPattern(own.match, own.maxLength)
    if (pattern === undefined) throw new Error(`no built-in pattern is named ${label}`)
    return {
      stage,
      action: stageActionOf({ use, action }),
      label,
      pattern,
      isReversible: reversible === true
    }
  })
}
