/** Holds what was written against the schema, and fills in the defaults. */

import { Ajv2019, type ErrorObject } from 'ajv/dist/2019.js'
import { Config } from '../../schemas/config.ts'
import { nearest } from '../nearest.ts'
import { formatPath, isMap, type Path } from './path.ts'
import type { Report } from './report.ts'

// All errors at once: this is the operator's own file, and at most 1 MB of it. Without the meta
// schema, which takes longer to compile than ours: TypeBox writes well-formed schemas.
const ajv = new Ajv2019({
  allErrors: true, verbose: true, useDefaults: true, strict: true, strictTypes: false,
  meta: false, validateSchema: false
})
ajv.addVocabulary(['patternErrorMessage'])
const isConfig = ajv.compile<Config>(Config)

/**
 * Reports every entry that is unknown, missing or wrong, and returns what is left without them,
 * complete with defaults: the rest can then be checked further as if it were the whole.
 *
 * @param value what was written; changed in place
 */
export function checkShape (value: Record<string, unknown>, report: Report): Config {
  let accepted: unknown = value
  for (let first = true; !isConfig(accepted); first = false) {
    const whole = accepted
    // Of a name that breaks its rule, ajv says twice: once for the rule, once for the name.
    const errors = (isConfig.errors ?? []).filter(error => error.propertyName === undefined)
    const wrong = errors.map(error => ({ error, path: pathOf(error, whole) }))
    // Cutting out one entry can leave its map incomplete; that is not the operator's doing.
    if (first) for (const { error, path } of wrong) describe(error, path, report)
    for (const { path } of wrong) {
      if (path.length === 0) accepted = {}
      else cut(whole, path)
    }
  }
  return accepted
}

function describe (error: ErrorObject, path: Path, report: Report): void {
  const { keyword, params, data, parentSchema = {} } = error
  switch (keyword) {
    case 'additionalProperties': {
      const known = isMap(parentSchema.properties) ? Object.keys(parentSchema.properties) : []
      const meant = nearest(String(params.additionalProperty), known)
      const suggestion = meant === undefined ? undefined : formatPath([...path.slice(0, -1), meant])
      return report.add(path, 'unknown entry', { suggestion, part: 'name' })
    }
    case 'propertyNames':
      return report.add(path, String(parentSchema.propertyNames.patternErrorMessage), { part: 'name' })
    case 'required': return report.add([...path, String(params.missingProperty)], 'is missing')
    case 'minimum': return report.add(path, `must be at least ${params.limit}`)
    case 'maximum': return report.add(path, `must be at most ${params.limit}`)
    case 'minLength': return report.add(path, 'must not be empty')
    case 'minItems': return report.add(path, 'must not be an empty list')
    default: {
      const { enum: words, patternErrorMessage } = parentSchema
      if (!Array.isArray(words)) {
        return report.add(path, String(patternErrorMessage ?? `must be ${typeName(params.type)}`))
      }
      const suggestion = typeof data === 'string' ? nearest(data, words) : undefined
      return report.add(path, `must be one of ${words.join(', ')}`, { suggestion })
    }
  }
}

function typeName (type: unknown): string {
  if (Array.isArray(type)) return type.map(typeName).join(' or ')
  switch (type) {
    case 'object': return 'a map'
    case 'array': return 'a list'
    case 'integer': return 'a whole number'
    case 'boolean': return 'true or false'
    case 'number': return 'a number'
    default: return 'text'
  }
}

/** The entry at fault; for a name that is not allowed, the entry of that name. */
function pathOf ({ instancePath, params }: ErrorObject, whole: unknown): Path {
  const path: Array<string | number> = []
  let value = whole
  // A JSON pointer: `~1` and `~0` stand for `/` and `~`.
  for (const step of instancePath.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    path.push(Array.isArray(value) ? Number(name) : name)
    value = isMap(value) || Array.isArray(value) ? Reflect.get(value, name) : undefined
  }
  const extra: unknown = params.additionalProperty ?? params.propertyName
  if (typeof extra === 'string') path.push(extra)
  return path
}

/** Removes an entry; of a list the whole list, since the indices of its items must stay true. */
function cut (value: unknown, path: Path): void {
  let map: unknown = value
  for (const step of path.slice(0, -1)) {
    const next: unknown = isMap(map) ? map[step] : undefined
    if (Array.isArray(next) && isMap(map)) {
      delete map[step]
      return
    }
    map = next
  }
  const last = path.at(-1)
  if (isMap(map) && last !== undefined) delete map[last]
}
