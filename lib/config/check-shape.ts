/** Validates the configuration against the schema and fills in defaults. */

import type { ErrorObject, ValidateFunction } from 'ajv/dist/2019.js'
import { Check } from 'typebox/schema'
import { isObject } from '../json/type-guards.ts'
import { Config } from '../../schemas/config.ts'
import { budgetPatternMessages } from '../../schemas/config/keys.ts'
import { kindNamed, unsupportedService } from '../models/kind-names.ts'
import { nearestWord } from '../text/nearest-word.ts'
import { fillDefaults } from '../validation/fill-defaults.ts'
import { loadAjv } from '../validation/load-ajv.ts'
import { formatPath, type Path } from './path.ts'
import type { Report } from './report.ts'

/** The configuration without its invalid entries, and the original paths of the rest. */
export interface ShapeResult {
  readonly config: Config
  /** Returns the original path of an entry: list items move up when an earlier one is removed. */
  readonly written: (path: Path) => Path
}

/**
 * Reports every unknown, missing or invalid entry and returns the rest, complete with defaults, so that it
 * can be checked further.
 *
 * @param value the configuration as written; changed in place
 */
export function checkShape (value: Record<string, unknown>, report: Report): ShapeResult {
  fillDefaults(Config, value)
  if (Check(Config, value)) return { config: value, written: path => path }
  return reportShape(value, report)
}

/**
 * Kept after the first configuration with problems: it is usually read again after corrections, and compiling
 * takes 60 ms.
 */
let configCheck: ValidateFunction<Config> | undefined

/** Reports all errors, not just the first: this is the operator's file, at most 1 MB. */
function compileCheck (): ValidateFunction<Config> {
  // Skips the meta schema, which takes longer to compile than ours; TypeBox writes well-formed schemas.
  const ajv = new (loadAjv())({
    allErrors: true, verbose: true, useDefaults: true, strict: true, strictTypes: false,
    meta: false, validateSchema: false
  })
  ajv.addVocabulary(['patternErrorMessage'])
  return ajv.compile<Config>(Config)
}

function reportShape (value: Record<string, unknown>, report: Report): ShapeResult {
  const isConfig = configCheck ??= compileCheck()
  let accepted: unknown = value
  const gone = new Map<string, number[]>()
  const written = (path: Path): Path => {
    const found: Array<string | number> = []
    for (const step of path) {
      found.push(typeof step === 'number' ? movedBack(step, gone.get(formatPath(found))) : step)
    }
    return found
  }
  for (let first = true; !isConfig(accepted); first = false) {
    const values = accepted
    // For an invalid name ajv reports two errors: the rule and the name.
    const errors = (isConfig.errors ?? []).filter(error => error.propertyName === undefined)
    const wrong = errors.map(error => ({ error, path: pathOf(error, values) }))
    // Removing an entry can leave its map incomplete, which is not the operator's mistake.
    if (first) reportErrors(errors, values, report)
    for (const path of lastFirst(wrong.map(({ path }) => path))) {
      const item = written(path)
      const index = item.at(-1)
      if (path.length === 0) accepted = {}
      else if (cut(values, path) && typeof index === 'number') {
        const list = formatPath(item.slice(0, -1))
        gone.set(list, [...gone.get(list) ?? [], index].toSorted((a, b) => a - b))
      }
    }
  }
  return { config: accepted, written }
}

/** Reports ajv's errors for a value that was checked with `allErrors` and `verbose`. */
export function reportErrors (errors: readonly ErrorObject[], value: unknown, report: Report): void {
  for (const error of errors) describe(error, pathOf(error, value), report)
}

function movedBack (index: number, gone: readonly number[] = []): number {
  return gone.reduce((moved, removed) => removed <= moved ? moved + 1 : moved, index)
}

/**
 * Lists each path once, in an order in which removing one keeps the others valid: last items first, children
 * before parents.
 */
function lastFirst (paths: readonly Path[]): Path[] {
  const each = new Map(paths.map(path => [formatPath(path), path]))
  return [...each.values()].toSorted((a, b) => {
    for (const [depth, step] of a.entries()) {
      const other = b[depth]
      if (other === undefined) return -1
      if (typeof step === 'number' && typeof other === 'number' && step !== other) return other - step
      if (step !== other) return String(step) < String(other) ? -1 : 1
    }
    return b.length - a.length
  })
}

/** Sections of other gateways, with their equivalents here. */
const namesOfOthers: ReadonlyMap<string, string> = new Map([
  [
    'model_list',
    'is a LiteLLM setting: name the servers in `providers`, where models are `provider/model`, and your own names for them in `models` and `routes`'
  ],
  ['litellm_settings', 'is a LiteLLM setting: see `limits`, `calls` and `usage`'],
  [
    'router_settings',
    'is a LiteLLM setting: list the fallback models and their strategy in `routes`'
  ],
  ['general_settings', 'is a LiteLLM setting: see `server`, `keys` and `store`']
])

function describe (error: ErrorObject, path: Path, report: Report): void {
  const { keyword, params, data, parentSchema = {} } = error
  switch (keyword) {
    case 'additionalProperties': {
      const foreign = path.length === 1 ? namesOfOthers.get(String(params.additionalProperty)) : undefined
      if (foreign !== undefined) return report.add(path, foreign, { part: 'name' })
      if (params.additionalProperty === '<<') {
        const message = 'merge keys are not read: write the entries, or name the whole map (`*name`)'
        return report.add(path, message, { part: 'name' })
      }
      const known = isObject(parentSchema.properties) ? Object.keys(parentSchema.properties) : []
      const meant = nearestWord(String(params.additionalProperty), known)
      const suggestion = meant === undefined ? undefined : formatPath([...path.slice(0, -1), meant])
      const message =
        suggestion === undefined && known.length > 0
          ? `unknown entry; known entries: ${known.join(', ')}`
          : 'unknown entry'
      return report.add(path, message, { suggestion, part: 'name' })
    }
    case 'propertyNames':
      return report.add(path, String(parentSchema.propertyNames.patternErrorMessage), { part: 'name' })
    case 'required': return report.add([...path, String(params.missingProperty)], 'is missing')
    case 'minimum': return report.add(path, `must be at least ${params.limit}`)
    case 'exclusiveMinimum': return report.add(path, `must be more than ${params.limit}`)
    case 'maximum': return report.add(path, `must be at most ${params.limit}`)
    case 'maxLength': return report.add(path, `must have at most ${params.limit} characters`)
    case 'maxItems': return report.add(path, `must have at most ${params.limit} entries`)
    case 'minLength': return report.add(path, 'must not be empty')
    case 'minItems': return report.add(path, 'must not be an empty list')
    default: {
      const {
        enum: words,
        pattern,
        patternErrorMessage = budgetPatternMessages[String(pattern)]
      } = parentSchema
      if (!Array.isArray(words)) {
        return report.add(path, String(patternErrorMessage ?? `must be ${typeName(params.type)}`))
      }
      const isKind = path.length === 3 && path[0] === 'providers' && path[2] === 'kind'
      if (typeof data !== 'string') return report.add(path, `must be one of ${words.join(', ')}`)
      const service = isKind ? unsupportedService(data) : undefined
      if (service !== undefined) {
        return report.add(path, `${service} is not supported; kinds: ${words.join(', ')}`)
      }
      const suggestion = (isKind ? kindNamed(data) : undefined) ?? nearestWord(data, words)
      return report.add(path, `must be one of ${words.join(', ')}`, { suggestion })
    }
  }
}

function typeName (type: unknown): string {
  if (Array.isArray(type)) return type.map(typeName).join(' or ')
  switch (type) {
    case 'object': return 'a map'
    case 'array': return 'a list'
    case 'integer': return 'an integer'
    case 'boolean': return 'true or false'
    case 'number': return 'a number'
    default: return 'a string'
  }
}

/** Returns the path of the invalid entry, or of the entry with an invalid name. */
function pathOf ({ instancePath, params }: ErrorObject, values: unknown): Path {
  const path: Array<string | number> = []
  let value = values
  // A JSON pointer: `~1` and `~0` stand for `/` and `~`.
  for (const step of instancePath.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    path.push(Array.isArray(value) ? Number(name) : name)
    value = isObject(value) || Array.isArray(value) ? Reflect.get(value, name) : undefined
  }
  const extra: unknown = params.additionalProperty ?? params.propertyName
  if (typeof extra === 'string') path.push(extra)
  return path
}

/** Removes an entry of a map or an item of a list; true for an item. */
function cut (value: unknown, path: Path): boolean {
  const last = path.at(-1)
  const holder = path.slice(0, -1).reduce((value: unknown, step) => (
    isObject(value) || Array.isArray(value) ? Reflect.get(value, step) : undefined
  ), value)
  if (Array.isArray(holder) && typeof last === 'number') return holder.splice(last, 1).length > 0
  if (isObject(holder) && last !== undefined) delete holder[last]
  return false
}
