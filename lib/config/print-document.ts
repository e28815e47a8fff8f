import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import type { JsonObject } from '../json/type-guards.ts'

/** Prints a configuration as YAML. */
export function printDocument (value: JsonObject): string {
  // the package's types; loaded on demand because few commands print a configuration
  const { stringify } = createRequire(import.meta.url)('yaml') as typeof Yaml
  return stringify(value, { lineWidth: 110 })
}
