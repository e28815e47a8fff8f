/** Records the outcome for each column of an imported database. */

import { verdicts, type PlanRow, type Verdict } from './plan.ts'
import { isEmpty, amountOf, objectOrEmpty } from './values.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { isContainer, listOf, nonEmptyText, type JsonObject } from '../json/type-guards.ts'

/** The outcome for a column, with the reason. */
export type ColumnNote = readonly [verdict: Verdict, note: string]
/** By table and column. */
export type ColumnNotes = Readonly<Record<string, Readonly<Record<string, ColumnNote>>>>

interface Noted {
  readonly path: string
  readonly verdict: Verdict
  readonly note: string
  readonly names: string[]
}

/** Names of rows that a note lists; above that it has only their number. */
const maxNames = 3

export class ColumnPlan {
  readonly notes: ColumnNotes
  /** By column, verdict and note. */
  readonly #noted = new Map<string, Noted>()

  constructor (notes: ColumnNotes) {
    this.notes = notes
  }

  /** Records the outcome for a column of one row. */
  note (path: string, name: string, verdict: Verdict, note: string): void {
    const key = JSON.stringify([path, verdict, note])
    const noted = this.#noted.get(key)
    if (noted === undefined) this.#noted.set(key, { path, verdict, note, names: [name] })
    else noted.names.push(name)
  }

  /** One for each outcome of a column, with its rows. */
  get rows (): readonly PlanRow[] {
    const rows = [...this.#noted.values()].map(({ path, verdict, note, names }) => {
      const which = names.length > maxNames ? `${names.length} rows` : names.join(', ')
      return { path, verdict, note: `${note} (${which})` }
    })
    return rows.toSorted(
      (a, b) => verdicts.indexOf(a.verdict) - verdicts.indexOf(b.verdict) || (a.path < b.path ? -1 : 1)
    )
  }
}

/** Reads one row of a table, and records the outcome for its columns. */
export class TableRow {
  readonly #plan: ColumnPlan
  readonly #table: string
  readonly #row: JsonObject
  readonly #noted = new Set<string>()
  /** Names it in the plan. */
  readonly name: string

  constructor (plan: ColumnPlan, table: string, row: JsonObject, name: string) {
    this.#plan = plan
    this.#table = table
    this.#row = row
    this.name = name
  }

  text (column: string): string | undefined {
    return nonEmptyText(this.#row[column])
  }

  number (column: string): number | undefined {
    return amountOf(this.#row[column])
  }

  object (column: string): JsonObject {
    return objectOrEmpty(parsed(this.#row[column]))
  }

  list (column: string): readonly unknown[] {
    return listOf(parsed(this.#row[column]))
  }

  texts (column: string): readonly string[] {
    return this.list(column).flatMap(value => nonEmptyText(value) ?? [])
  }

  /** Returns Unix milliseconds: Prisma stores times in UTC, without a zone. */
  time (column: string): number | undefined {
    const text = this.text(column)
    const ms = text === undefined ? NaN : parseIsoDate(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`)
    return Number.isNaN(ms) ? undefined : ms
  }

  isTrue (column: string): boolean {
    return this.#row[column] === true
  }

  /** Records the outcome for a column, or for a member of it, if it has a value. */
  note (path: string, verdict: Verdict, note: string): void {
    const [column = ''] = path.split('.')
    if (!isSet(this.#row[column])) return
    this.#noted.add(column)
    this.#plan.note(`${this.#table}.${path}`, this.name, verdict, note)
  }

  /**
   * Notes the remaining columns with a value (0 is a value only in limits): as in the table of notes,
   * otherwise as unsupported.
   */
  noteOthers (): void {
    const notes = this.#plan.notes[this.#table] ?? {}
    for (const [column, value] of Object.entries(this.#row)) {
      if (value === 0 || this.#noted.has(column)) continue
      this.note(column, ...notes[column] ?? ['unsupported', 'no counterpart'])
    }
  }
}

/** A column of JSON may hold the text of it. */
function parsed (value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function isSet (value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === false) return false
  const read = parsed(value)
  return !isContainer(read) || !isEmpty(read)
}
