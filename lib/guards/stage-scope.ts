/** Decides by `only` which calls a stage looks at. */

import { projectNamesOf } from '../core/key.ts'
import type { RoutedCall } from '../core/call.ts'
import type { Route } from '../core/route.ts'
import type { Settings } from '../core/settings.ts'

export function looksAt (
  { only = {} }: Settings['stages'][number],
  { record, key, routes }: RoutedCall<unknown>
): boolean {
  const { endpoints, keys, projects, models } = only
  if (endpoints !== undefined && !endpoints.some(name => name === record.endpoint)) return false
  if (keys !== undefined && !keys.some(name => name === key.id || name === key.name)) return false
  if (projects !== undefined && !projectNamesOf(key).some(name => projects.includes(name))) return false
  return (
    models === undefined || routes.some(({ modelId }) => models.some(pattern => isModel(modelId, pattern)))
  )
}

function isModel (modelId: Route['modelId'], pattern: string): boolean {
  return (
    pattern === modelId ||
    pattern === '*' ||
    (pattern.endsWith('/*') && modelId.startsWith(pattern.slice(0, -1)))
  )
}
