/** The configured guards. */

import { randomBytes } from 'node:crypto'
import {
  guardActionOf, guardKindOf, isJudgeKind, type FilterKind, type GuardAction
} from '../../schemas/config/guards.ts'
import { projectIdOf, type ApiKey } from '../core/key.ts'
import { GuardFindings } from '../core/guard-findings.ts'
import { boundedPattern } from '../text/bounded-pattern.ts'
import { PatternFilter, builtInPattern, type PatternRule } from './pattern-filter.ts'
import { KeyedPlaceholders } from './keyed-placeholders.ts'
import { LookalikeFilter } from './placeholder-filter.ts'
import { JudgeGuard, type UnavailableGuard } from './judge-guard.ts'
import { inspects } from './guard-scope.ts'
import type { Placeholders } from '../core/placeholders.ts'
import type { GuardSettings } from '../core/settings.ts'
import type { FilterLayer, ReversibleGuards, TextLayer, TextGuards } from './text-guards.ts'
import type { Judge } from './text-judge.ts'

/** What asynchronous guards need. */
export interface JudgeDeps {
  /** By the names of their guards. */
  readonly judges: ReadonlyMap<string, Judge>
  /** Called when a guard could not inspect a call. */
  readonly onUnavailable: UnavailableGuard
  /** True if callers may see which guards inspect their calls. Default: false. */
  readonly exposesNames?: boolean
  /** Key for the placeholders of reversible guards, 32 bytes. Default: random. */
  readonly secret?: Buffer | undefined
}

interface FilterGuard {
  readonly settings: GuardSettings
  readonly rules: readonly PatternRule[]
}

/**
 * Returns the guards of a configuration, as layers in the order in which they see a text. Adjacent filters
 * search a text together, in configured order. A masking guard never hides text from an earlier refusing
 * guard.
 *
 * @param deps Default: there are only filters
 * @throws PatternError for an invalid pattern, which validation should have caught; Error for a guard
 *   missing from `deps`
 */
export function configuredGuards (settings: readonly GuardSettings[], deps?: JudgeDeps): TextGuards {
  const layers: Array<TextLayer & { readonly group?: FilterGuard[] }> = []
  const reversible = reversibleGuards(settings.filter(guard => guard.reversible === true), deps?.secret)
  if (reversible !== undefined) layers.push(lookalikeLayer(reversible))
  for (const guard of settings) {
    const kind = guardKindOf(guard.use)
    if (!isJudgeKind(kind)) {
      const one = { settings: guard, rules: filterKinds[kind](guard) }
      const group = layers.at(-1)?.group
      const isHiding = actionOf(one) === 'mask' && group?.some(other => actionOf(other) === 'refuse')
      if (group === undefined || isHiding === true) layers.push(patternLayer([one], reversible))
      else group.push(one)
      continue
    }
    const judge = deps?.judges.get(guard.name)
    if (deps === undefined || judge === undefined) {
      throw new Error(`the guard ${guard.name} was not opened: use \`openJudges\` before`)
    }
    layers.push(new JudgeGuard(guard, judge, deps.onUnavailable))
    const { stages } = judge
    if (stages !== undefined) {
      layers.push({ kind: 'stages', stages: call => inspects(guard, call) ? stages : {} })
    }
  }
  return {
    layers,
    ...deps?.exposesNames === true && {
      namesFor: call => settings.filter(guard => inspects(guard, call)).map(({ name }) => name)
    },
    ...reversible !== undefined && { reversible }
  }
}

function reversibleGuards (
  guards: readonly GuardSettings[],
  secret: Buffer = randomBytes(32)
): ReversibleGuards | undefined {
  if (guards.length === 0) return undefined
  const create = (key: ApiKey): Placeholders =>
    new KeyedPlaceholders(secret, { keyId: key.id, projectId: projectIdOf(key) })
  const restores: ReversibleGuards['restores'] = call => {
    const inspecting = guards.filter(guard => inspects(guard, call))
    if (inspecting.length === 0) return undefined
    return { forServers: inspecting.every(({ unmaskFor = [] }) => unmaskFor.includes('server')) }
  }
  return {
    restores,
    placeholdersOf: call => {
      if (restores(call) === undefined) return undefined
      return (call.record.guards.placeholders ??= create(call.key))
    },
    open: (key, sealed) => {
      const placeholders = create(key)
      placeholders.join(sealed)
      return placeholders
    }
  }
}

/**
 * Builds the layer that replaces lookalikes of placeholders in requests and tool results. Otherwise an answer
 * could repeat one and it would be restored.
 */
function lookalikeLayer ({ placeholdersOf }: ReversibleGuards): FilterLayer {
  return {
    kind: 'filters',
    filter: (call, points) => {
      if (points.includes('answer') || points.includes('tool_call')) return undefined
      const placeholders = placeholdersOf(call)
      return placeholders && new LookalikeFilter(placeholders, points.includes('tool_result'))
    }
  }
}

function patternLayer (
  group: FilterGuard[],
  reversible: ReversibleGuards | undefined
): FilterLayer & { readonly group: FilterGuard[] } {
  return {
    group,
    kind: 'filters',
    filter: (call, points) => {
      const rules = group.flatMap(({ settings, rules }) =>
        settings.at.some(point => points.includes(point)) && inspects(settings, call) ? rules : []
      )
      const point = points.at(-1)
      return rules.length === 0 || point === undefined
        ? undefined
        : new PatternFilter(
            rules,
            point,
            (call.record.guards.findings ??= new GuardFindings()),
            reversible?.placeholdersOf(call)
          )
    }
  }
}

function actionOf ({ settings }: FilterGuard): GuardAction {
  return guardActionOf(settings)
}

/** The rules that a guard of each kind searches for. */
const filterKinds: Readonly<Record<FilterKind, (guard: GuardSettings) => PatternRule[]>> = {
  pattern: patternRules
}

function patternRules (
  { name: guard, use, action, reversible, patterns = [] }: GuardSettings
): PatternRule[] {
  return patterns.map(given => {
    const own = typeof given === 'string' ? undefined : given
    const label = typeof given === 'string' ? given : given.name
    const pattern = own === undefined ? builtInPattern(label) : boundedPattern(own.match, own.maxLength)
    if (pattern === undefined) throw new Error(`no built-in pattern is named ${label}`)
    return {
      guard,
      action: guardActionOf({ use, action }),
      label,
      pattern,
      isReversible: reversible === true
    }
  })
}
