import type { ApiKey } from '../core/key.ts'

/**
 * Whether a key may use a model, or a configured route by its name.
 *
 * A key without patterns may use all. A pattern is a name, or ends in `/*` and means every model
 * of that provider.
 */
export function mayUse (key: ApiKey, name: string): boolean {
  if (key.models === undefined) return true
  return key.models.some(pattern =>
    pattern === name || pattern === '*' ||
    (pattern.endsWith('/*') && name.startsWith(pattern.slice(0, -1))))
}
