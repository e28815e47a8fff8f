/** Accepts entries under the names of earlier versions, so that an upgrade needs no new file. */

import { isObject, type JsonObject } from '../json/type-guards.ts'
import type { Path } from './path.ts'
import type { Report } from './report.ts'

/** The section, with `*` for any name; the earlier name, and the current one. */
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
 * Renames entries that use an earlier name, and warns about each. An entry under both names is left alone, so
 * that the earlier name is reported as unknown.
 *
 * @param value the configuration as written; changed in place
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
