/** Lists every entry of the configuration with its value and its origin. */

import type { ConfigurationEntry } from '../../schemas/admin/configuration.ts'
import { isObject } from '../json/type-guards.ts'
import { checkShape } from './check-shape.ts'
import { acceptEarlierNames } from './earlier-names.ts'
import { applyEnvironment, readEnvironment, type Origins } from './environment.ts'
import { formatPath, type Path } from './path.ts'
import { readFile, type ConfigSources } from './read-settings.ts'
import { createReport } from './report.ts'

/**
 * Lists the entries of a valid configuration; a list of scalars is one entry. Secrets are shown as
 * references.
 *
 * @throws ConfigError
 */
export function effectiveEntries (sources: ConfigSources): ConfigurationEntry[] {
  const document = readFile(sources)
  const { value } = document
  const origins = applyEnvironment(value, readEnvironment(sources.env, sources.cwd))
  const report = createReport(document, origins)
  acceptEarlierNames(value, report)
  const written = structuredClone(value)
  const { config } = checkShape(value, report)
  return leaves(config, []).map(({ path, value }) => ({
    path: formatPath(path),
    value,
    ...originOf(path, written, origins)
  }))
}

function leaves (value: unknown, path: Path): Array<{ readonly path: Path, readonly value: unknown }> {
  if (Array.isArray(value) && value.some(isObject)) {
    return value.flatMap((item, index) => leaves(item, [...path, index]))
  }
  if (isObject(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([name, entry]) => leaves(entry, [...path, name]))
  }
  return path.length === 0 ? [] : [{ path, value }]
}

function originOf (
  path: Path,
  written: unknown,
  origins: Origins
): Pick<ConfigurationEntry, 'origin' | 'variable'> {
  const variable = origins.get(formatPath(path))
  if (variable !== undefined) return { origin: 'environment', variable }
  const inFile =
    path.reduce<unknown>(
      (entry, step) => (isObject(entry) || Array.isArray(entry) ? Reflect.get(entry, step) : undefined),
      written
    ) !== undefined
  return { origin: inFile ? 'file' : 'default', variable: null }
}
