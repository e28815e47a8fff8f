/**
 * Caches prepared statements by SQL text, because Kysely prepares every query again, which costs as much as
 * running it.
 */

import { storableText } from '../storable-text.ts'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { SqliteDatabase } from 'kysely'

export type Statement = Pick<StatementSyncInstance, 'run' | 'all' | 'get'>

type KyselyStatement = ReturnType<SqliteDatabase['prepare']>

const maxStatements = 500

export class StatementCache {
  readonly #file: DatabaseSyncInstance
  readonly #statements = new Map<string, StatementSyncInstance>()
  readonly #adapted = new WeakMap<StatementSyncInstance, KyselyStatement>()

  constructor (file: DatabaseSyncInstance) {
    this.#file = file
  }

  prepare (sql: string): StatementSyncInstance {
    const prepared = this.#statements.get(sql)
    if (prepared !== undefined) return prepared
    if (this.#statements.size >= maxStatements) this.#statements.clear()
    const statement = this.#file.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  forKysely (): SqliteDatabase {
    return {
      close: () => {
        this.#statements.clear()
        this.#file.close()
      },
      prepare: sql => {
        const statement = this.prepare(sql)
        let adapted = this.#adapted.get(statement)
        if (adapted === undefined) this.#adapted.set(statement, adapted = adapt(statement))
        return adapted
      }
    }
  }
}

function adapt (statement: StatementSyncInstance): KyselyStatement {
  return {
    reader: statement.columns().length > 0,
    all: values => statement.all(...values.map(bindable)),
    run: values => statement.run(...values.map(bindable)),
    iterate: values => statement.iterate(...values.map(bindable))
  }
}

type Bindable = string | number | bigint | null | Uint8Array

/** @throws TypeError for a value without a SQLite type, which would be stored as `null`. */
function bindable (value: unknown): Bindable {
  if (typeof value === 'string') return storableText(value)
  if (value === null || typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Uint8Array) return value
  throw new TypeError(`a value of type ${typeof value} cannot be stored`)
}
