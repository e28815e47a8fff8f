/** Records the outcome for each entry of an imported configuration. */

import { isObject, type JsonObject } from '../json/type-guards.ts'

/**
 * - `exact`: the same here
 * - `approximate`: something near it, which the note describes
 * - `manual`: someone has to do what the note says
 * - `unsupported`: nothing here does it
 */
export type Verdict = 'exact' | 'approximate' | 'manual' | 'unsupported'
export const verdicts: readonly Verdict[] = ['exact', 'approximate', 'manual', 'unsupported']

export interface PlanRow {
  /** Of the entry: `model_list[0].litellm_params.model`. */
  readonly path: string
  readonly verdict: Verdict
  /** The result, or why there is none. */
  readonly note: string
}

export class ImportPlan {
  readonly #file: JsonObject
  /** Of all entries. */
  readonly #paths = new Set<string>()
  readonly #rows = new Map<string, PlanRow>()

  /** @param file what is imported */
  constructor (file: JsonObject) {
    this.#file = file
    this.#addPaths(file, '')
  }

  get rows (): readonly PlanRow[] {
    return [...this.#rows.values()]
  }

  /** Records the outcome for an entry, if it exists. The worst of several outcomes counts. */
  note (path: string, verdict: Verdict, note: string): void {
    const known = this.#rows.get(path)
    const isWorse = known !== undefined && verdicts.indexOf(verdict) > verdicts.indexOf(known.verdict)
    if (isWorse || (known === undefined && this.#paths.has(path))) {
      this.#rows.set(path, { path, verdict, note })
    }
  }

  /** Records the same outcome for several entries of one. */
  noteFields (path: string, fields: readonly string[], verdict: Verdict, note: string): void {
    for (const field of fields) this.note(`${path}.${field}`, verdict, note)
  }

  /** Returns true if an entry has an outcome. */
  has (path: string): boolean {
    return this.#rows.has(path)
  }

  /** Records every entry without an outcome, itself or with everything inside it, as unsupported. */
  noteOthers (value: unknown = this.#file, path = ''): void {
    if (this.#rows.has(path)) return
    const entries = entriesOf(value, path)
    if (entries === undefined) this.note(path, 'unsupported', 'no counterpart')
    else for (const [at, entry] of entries) this.noteOthers(entry, at)
  }

  #addPaths (value: unknown, path: string): void {
    this.#paths.add(path)
    for (const [at, entry] of entriesOf(value, path) ?? []) this.#addPaths(entry, at)
  }
}

function entriesOf (
  value: unknown,
  path: string
): Array<readonly [path: string, value: unknown]> | undefined {
  if (Array.isArray(value)) return value.map((item, index) => [`${path}[${index}]`, item])
  if (!isObject(value)) return undefined
  return Object.entries(value).map(([name, entry]) => [path === '' ? name : `${path}.${name}`, entry])
}
