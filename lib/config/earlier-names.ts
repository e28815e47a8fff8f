/**
 * Takes entries of a configuration by the names they had in an earlier version, so that an upgrade needs no
 * other file.
 */

import { isObject, type JsonObject } from '../json/guards.ts'
import type { Path } from './path.ts'
import type { Report } from './report.ts'

/** The section of an entry, with `*` for any name; its earlier name, and the present one. */
const renamed: ReadonlyArray<readonly [section: Path, earlier: string, present: string]> = [
  [['providers', '*'], 'connections', 'max_connections'],
  [['providers', '*', 'timeouts'], 'whole_ms', 'response_ms'],
  [['providers', '*', 'quirks'], 'choices', 'multiple_choices'],
  [['providers', '*', 'quirks'], 'forward', 'extra_fields'],
  [['providers', '*', 'quirks'], 'echo', 'keep_in_history'],
  [['limits'], 'default_key', 'default_key_limits'],
  [['tools'], 'repeats', 'max_identical_calls'],
  [['tools'], 'sessions', 'max_sessions'],
  [['server'], 'open_health', 'public_health'],
  [['deferred'], 'emulate', 'for_all_providers'],
  [['deferred'], 'pending', 'max_pending'],
  [['deferred'], 'key_bytes', 'max_bytes_per_key']
]

/**
 * Renames the entries that have an earlier name, and warns about each. One that has both names keeps them:
 * the earlier one is then reported as unknown.
 *
 * @param value what was written; changed in place
 */
export function acceptEarlierNames (value: JsonObject, report: Report): void {
  for (const [section, earlier, present] of renamed) {
    for (const { path, entry } of sectionsOf(value, section)) {
      if (!Object.hasOwn(entry, earlier) || Object.hasOwn(entry, present)) continue
      entry[present] = entry[earlier]
      delete entry[earlier]
      report.warn([...path, earlier], `is now named ${present}`, { part: 'name' })
    }
  }
}

interface Section {
  readonly path: Path
  readonly entry: JsonObject
}

function sectionsOf (value: JsonObject, section: Path): Section[] {
  let found: Section[] = [{ path: [], entry: value }]
  for (const step of section) {
    found = found.flatMap(({ path, entry }) => {
      const names = step === '*' ? Object.keys(entry) : [step]
      return names.flatMap(name => {
        const inner = entry[name]
        return isObject(inner) ? [{ path: [...path, name], entry: inner }] : []
      })
    })
  }
  return found
}
