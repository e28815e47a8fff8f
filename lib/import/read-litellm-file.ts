/** Reads the `config.yaml` of LiteLLM with the files that it includes. */

import { dirname, resolve } from 'node:path'
import { readDocument } from '../config/config-document.ts'
import { isObject, listOf, type JsonObject } from '../json/type-guards.ts'

/**
 * Returns the entries of a file, its merge keys (`<<`) replaced by what they refer to. Lists of an included
 * file are added to those of the file; its other entries replace them, as in LiteLLM.
 *
 * @param path of the file, as the operator wrote it
 * @param read returns the text of a file; called once for each
 */
export function readLitellmFile (path: string, read: (path: string) => string): JsonObject {
  const { include, ...file } = entriesIn(path, read)
  const waiting = filesIn(include, path)
  const passed = new Set([resolve(path)])
  const whole = new Map(Object.entries(file))
  for (const next of waiting) {
    if (passed.has(resolve(next))) continue
    passed.add(resolve(next))
    const { include: others, ...entries } = entriesIn(next, read)
    waiting.push(...filesIn(others, next))
    for (const [name, value] of Object.entries(entries)) {
      const own = whole.get(name)
      whole.set(name, Array.isArray(own) && Array.isArray(value) ? [...own, ...value] : value)
    }
  }
  return Object.fromEntries(whole)
}

function entriesIn (path: string, read: (path: string) => string): JsonObject {
  const value = withoutMergeKeys(readDocument(read(path), path).value)
  return isObject(value) ? value : {}
}

function filesIn (include: unknown, path: string): string[] {
  return listOf(include).map(file => resolve(dirname(path), String(file)))
}

/** Entries next to a merge key win over those that it adds; of several maps, the first wins. */
function withoutMergeKeys (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMergeKeys)
  if (!isObject(value)) return value
  const { '<<': added, ...own } = value
  const maps = [added].flat().filter(isObject).toReversed().map(withoutMergeKeys)
  const entries = Object.entries(own).map(([name, entry]) => [name, withoutMergeKeys(entry)])
  return Object.assign({}, ...maps, Object.fromEntries(entries))
}
