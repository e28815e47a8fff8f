/**
 * Collects the tags of LiteLLM's keys and teams for the configuration, which refers to keys and projects by
 * name.
 */

import type { TableRow } from './column-plan.ts'
import type { JsonObject } from '../json/type-guards.ts'

const maxTags = 10
const maxTagLength = 64
/** The store truncates longer names. */
const maxNameLength = 94

export class ImportedTags {
  readonly #party: 'key' | 'project'
  readonly #names: readonly string[]
  readonly #entries: JsonObject[] = []

  /** @param names of all keys, or of all projects: a name that is not unique identifies none */
  constructor (party: 'key' | 'project', names: readonly string[]) {
    this.#party = party
    this.#names = names
  }

  /**
   * Adds the tags of a key or a project, and records the outcome for them.
   *
   * @returns false if there are none
   */
  add (row: TableRow, name: string, tags: readonly unknown[]): boolean {
    if (tags.length === 0) return false
    const section = `\`usage.${this.#party}s\``
    const hasOwnName = this.#names.filter(other => other === name).length === 1
    if (!hasOwnName || name.trim() !== name || name.length > maxNameLength) {
      row.note('metadata.tags', 'manual', `set them in ${section} by its id: its name is not unique here`)
      return true
    }
    const valid = [...new Set(tags)].filter(isTag)
    const kept = valid.slice(0, maxTags)
    if (kept.length > 0) this.#entries.push({ [this.#party]: name, tags: kept })
    if (tags.every(tag => kept.includes(String(tag)))) row.note('metadata.tags', 'exact', section)
    else {
      const rule = `at most ${maxTags}, of up to ${maxTagLength} characters without commas`
      row.note('metadata.tags', 'approximate', `${section}: ${rule}`)
    }
    return true
  }

  /** Returns the section of `usage` in the configuration; empty without tags. */
  section (): JsonObject {
    return this.#entries.length > 0 ? { [`${this.#party}s`]: this.#entries } : {}
  }
}

function isTag (tag: unknown): tag is string {
  return typeof tag === 'string' && tag !== '' && tag.length <= maxTagLength && !tag.includes(',')
}
