/** The stages of the configuration. */

import { defaultProject, type ApiKey } from '../core/key.ts'
import { StageFindings } from '../core/stage-findings.ts'
import { boundedPattern } from '../text/bounded-pattern.ts'
import { PatternFilter, builtInPattern, type PatternRule } from './pattern-filter.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { Settings } from '../core/settings.ts'
import type { TextFilter, TextPoint, TextStages } from './text-filter.ts'

type StageSettings = Settings['stages'][number]

interface Stage {
  readonly settings: StageSettings
  readonly rules: readonly PatternRule[]
}

export class ConfiguredStages implements TextStages {
  readonly #stages: readonly Stage[]

  /** @throws PatternError for a pattern that the configuration should not have passed */
  constructor (settings: Settings['stages']) {
    this.#stages = settings.map(stage => ({ settings: stage, rules: rulesOf(stage) }))
  }

  /** Neighbours look at a text at once, in the order of the configuration. */
  filter (call: RoutedCall<unknown>, points: readonly TextPoint[]): TextFilter | undefined {
    const rules = this.#stages.flatMap(({ settings, rules }) =>
      settings.at.some(point => points.includes(point)) && looksAt(settings, call) ? rules : []
    )
    const point = points.at(-1)
    return rules.length === 0 || point === undefined
      ? undefined
      : new PatternFilter(rules, point, (call.record.findings ??= new StageFindings()))
  }
}

function rulesOf ({ name: stage, action, patterns }: StageSettings): PatternRule[] {
  return patterns.map(given => {
    const own = typeof given === 'string' ? undefined : given
    const label = typeof given === 'string' ? given : given.name
    const pattern = own === undefined ? builtInPattern(label) : boundedPattern(own.match, own.maxLength)
    if (pattern === undefined) throw new Error(`no built-in pattern is named ${label}`)
    return { stage, action, label, pattern }
  })
}

function looksAt ({ only = {} }: StageSettings, { record, key, routes }: RoutedCall<unknown>): boolean {
  const { endpoints, keys, projects, models } = only
  if (endpoints !== undefined && !endpoints.some(name => name === record.endpoint)) return false
  if (keys !== undefined && !keys.some(name => name === key.id || name === key.name)) return false
  if (projects !== undefined && !projects.some(name => isOfProject(key, name))) return false
  return (
    models === undefined || routes.some(({ modelId }) => models.some(pattern => isModel(modelId, pattern)))
  )
}

function isOfProject ({ project }: ApiKey, name: string): boolean {
  return name === (project?.id ?? defaultProject) || name === (project?.name ?? defaultProject)
}

function isModel (modelId: Route['modelId'], pattern: string): boolean {
  return (
    pattern === modelId ||
    pattern === '*' ||
    (pattern.endsWith('/*') && modelId.startsWith(pattern.slice(0, -1)))
  )
}
