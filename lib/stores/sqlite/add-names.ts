import { attributionNames, type AttributionName } from '../../../schemas/admin/usage.ts'
import { dayOf } from '../../core/day.ts'
import { allNames, nameBounds, nameRollupKey, namesOf, otherNames, namePeriodStart } from '../name-rollups.ts'
import { dimensionsOf, isNamed, isSummed, projectSql } from '../usage-rollups.ts'
import { RowSums, SumTable } from './add-rollups.ts'
import type { NameRollupRow, RollupBacklogRow, UsageRow } from '../tables.ts'
import type { Statement } from './statement-cache.ts'

type Prepare = (sql: string) => Statement

const table = new SumTable('name_rollups', nameRollupKey)

const findProject = `
  select ${projectSql('record')} as id from (select ? as endpoint, ? as key_id) as record`
const ofPeriod = 'from counted_names where kind = ? and from_ms = ? and project_id = ?'
const findNames = `select name ${ofPeriod} and name in (?, ?)`
const countNames = `select count(*) as number ${ofPeriod}`
const noteName = 'insert into counted_names (kind, from_ms, project_id, name) values (?, ?, ?, ?)'

/** The values of `nameRollupKey`. */
type Key = readonly [
  kind: NameRollupRow['kind'],
  fromMs: number,
  projectId: string,
  name: string,
  model: string
]

interface Group {
  readonly key: Key
  readonly sums: RowSums
}

/**
 * Adds rows that were inserted in the same transaction. Rows before the end of the backlog are added later.
 *
 * @param sign -1 subtracts removed rows, or rows whose names were removed
 */
export function addNames (prepare: Prepare, rows: readonly UsageRow[], sign: 1 | -1 = 1): void {
  const named = rows.filter(row => isNamed(row) && isSummed.of(row))
  if (named.length === 0) return
  // the table's columns
  const [backlog] = prepare('select at_ms, id from rollup_backlog').all() as unknown as RollupBacklogRow[]
  const groups = new Map<string, Group>()
  const names = new CountedNames(prepare)
  for (const row of named) {
    if (backlog !== undefined && isBefore(row, backlog)) continue
    for (const key of keysOf(row, projectOf(prepare, row), names)) {
      const text = key.join('\0')
      let group = groups.get(text)
      if (group === undefined) groups.set(text, group = { key, sums: new RowSums() })
      group.sums.add(row, sign)
    }
  }
  for (const { key, sums } of groups.values()) table.add(prepare, key, sums)
}

function isBefore (row: UsageRow, { at_ms: atMs, id }: RollupBacklogRow): boolean {
  return row.at_ms < atMs || (row.at_ms === atMs && row.id < id)
}

function projectOf (prepare: Prepare, { endpoint, key_id: keyId }: UsageRow): string {
  return String(prepare(findProject).get(endpoint, keyId)?.['id'])
}

/** Lists the sums a row adds to: the sum over all names once per name. */
function keysOf (row: UsageRow, projectId: string, counted: CountedNames): Key[] {
  const [, model = ''] = dimensionsOf(row)
  const fromMs = dayOf(row.at_ms)
  const names = namesOf(row)
  const keys = attributionNames.flatMap(kind => {
    const all = names[kind].map(name => counted.nameOf(kind, row.at_ms, projectId, name))
    const ofModel = kind === 'tag' ? model : ''
    return [...new Set(all)].flatMap((name): Key[] => [
      [kind, fromMs, projectId, name, ofModel],
      [kind, fromMs, projectId, allNames, ofModel]
    ])
  })
  return names.tag.length === 0 ? keys : [...keys, ['tagged', fromMs, projectId, allNames, model]]
}

/** Tracks the distinguished names within a transaction. */
class CountedNames {
  readonly #prepare: Prepare
  /** By period with new names. */
  readonly #counts = new Map<string, number>()

  constructor (prepare: Prepare) {
    this.#prepare = prepare
  }

  /**
   * Returns the name under which a name is summed. Once `(other)` is among the names of a period it accepts
   * no more, so the result stays the same, even if some are deleted.
   */
  nameOf (kind: AttributionName, atMs: number, projectId: string, name: string): string {
    if (name === otherNames) return otherNames // sent by a caller
    const period = [kind, namePeriodStart(kind, atMs), projectId] as const
    const existing = this.#prepare(findNames).all(...period, name, otherNames).map(row => row['name'])
    if (existing.includes(name)) return name
    if (existing.length > 0) return otherNames
    const text = period.join('\0')
    const count = this.#counts.get(text) ?? Number(this.#prepare(countNames).get(...period)?.['number'])
    this.#counts.set(text, count + 1)
    const counted = count < nameBounds[kind].maxNames ? name : otherNames
    this.#prepare(noteName).run(...period, counted)
    return counted
  }
}
