/**
 * The embedded store: SQLite in one file of the data directory, opened through Kysely.
 *
 * Several processes may have it open at once: readers never wait, and the one writer at a time is
 * waited for. Times are Unix milliseconds. Values bound here are strings, finite numbers, `null`
 * and bytes only: the driver turns other objects into `null` without a word.
 */

import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { migrate } from './migrations.ts'
import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'
import type { Kysely, SqliteDatabase } from 'kysely'

/** A gateway key. Rows are never deleted, so that old ids in logs keep their name. */
export interface KeyRow {
  readonly id: string
  readonly name: string
  /** SHA-256 of the key, base64. */
  readonly digest: string
  /** JSON list of endpoint names; `null` means all. */
  readonly endpoints: string | null
  /** JSON list of model ids and patterns; `null` means all. */
  readonly models: string | null
  /** JSON of its `KeyLimits`; `null` means the default ones. */
  readonly limits: string | null
  readonly created_at_ms: number
  readonly expires_at_ms: number | null
  readonly revoked_at_ms: number | null
}

/** A secret of the gateway itself, the same for every process that shares the store. */
export interface SecretRow {
  readonly name: string
  /** base64 */
  readonly value: string
}

/** One deferred completion: while it runs, and until its answer expires. */
export interface DeferredRow {
  /** SHA-256 of the id the caller has, base64url. */
  readonly id: string
  /** `fetching` at a provider; `queued` or `running` here; `done`. */
  readonly state: 'fetching' | 'queued' | 'running' | 'done'
  /** The process that fetches or runs it. */
  readonly owner: string | null
  /** When whoever has it is taken for dead. */
  readonly lease_until_ms: number
  /** JSON of what is to be run; gone once it is done. */
  readonly task: string | null
  /** HTTP status and JSON body of the answer. */
  readonly status: number | null
  readonly body: string | null
  readonly expires_at_ms: number
  /** Whose it is; `null` in rows of earlier versions. */
  readonly key_id: string | null
  /** Of `task` or `body`, in UTF-8: to add them up, the texts need not be read. */
  readonly size_bytes: number
}

/**
 * One call that got past its key: what it used and what it cost. `null` was not reported, which is
 * not zero. Nothing of what was said is here.
 */
export interface UsageRow {
  /** The row's own: callers choose the ids of their calls, and may choose one twice. */
  readonly id: string
  /** What the caller was told as `x-request-id`. */
  readonly call_id: string
  /** When the call was accepted. */
  readonly at_ms: number
  readonly key_id: string
  readonly endpoint: string
  readonly requested_model: string | null
  readonly model: string | null
  readonly provider: string | null
  readonly outcome: string
  readonly status: number | null
  readonly error_code: string | null
  /** 0 or 1, like every yes or no here. */
  readonly streamed: number
  readonly attempts: number
  /** Turns of a tool loop. */
  readonly turns: number | null
  readonly prompt_tokens: number | null
  readonly completion_tokens: number | null
  /** Of the prompt's. */
  readonly cached_tokens: number | null
  /** Of the completion's. */
  readonly reasoning_tokens: number | null
  /** 1 when the tokens are a guess of the gateway. */
  readonly estimated: number
  readonly pages: number | null
  readonly audio_ms: number | null
  readonly characters: number | null
  readonly images: number | null
  /** Billionths of a dollar, at the price of that moment; `null` where no price is known. */
  readonly cost_nano_usd: number | null
  /** 1 when the caller brought a key of their own to the provider, who bills them. */
  readonly own_provider_key: number
  readonly duration_ms: number
  readonly first_byte_ms: number | null
}

/** What the rows that were pruned had cost, by key and day, so that budgets stay exact. */
export interface PrunedUsageRow {
  readonly key_id: string
  /** The first moment of the day, UTC. */
  readonly day_ms: number
  readonly cost_nano_usd: number
}

export interface Tables {
  keys: KeyRow
  secrets: SecretRow
  deferred: DeferredRow
  usage: UsageRow
  pruned_usage: PrunedUsageRow
}

export interface Database {
  readonly path: string
  readonly query: Kysely<Tables>
  /** @throws StoreError when nothing can be written: read-only, or locked for too long. */
  readonly checkWritable: () => void
  /** From now on a locked file is an error at once; `whenUnlocked` tries again without holding up the process. */
  readonly stopWaiting: () => void
  readonly close: () => Promise<void>
}

/** The store cannot be used; the message names its file and says why. */
export class StoreError extends Error {
  constructor (path: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    super(`The store ${path} cannot be used: ${reason}.`, { cause })
    this.name = 'StoreError'
  }
}

const cachedStatements = 500

export interface DatabaseOptions {
  /** How long a locked file is waited for, by the whole process. Default 5 seconds. */
  readonly busyTimeoutMs?: number
}

/** The file of the store in a data directory. */
export function databasePath (dataDir: string): string {
  return join(dataDir, 'headgate.db')
}

/**
 * Opens the store, creating what is not there: the directory and the file for their owner only.
 * Its tables are brought to the present shape first.
 *
 * The libraries are loaded here and not with this module: together they take a tenth of a second,
 * and half of the commands never open the store.
 *
 * @throws StoreError
 */
export async function openDatabase (
  dataDir: string, { busyTimeoutMs = 5_000 }: DatabaseOptions = {}
): Promise<Database> {
  const path = databasePath(dataDir)
  const [{ DatabaseSync }, { Kysely, SqliteDialect }] = await Promise.all([
    import('@photostructure/sqlite'), import('kysely')
  ])
  let file: DatabaseSyncInstance
  try {
    createPrivately(dataDir, path)
    file = new DatabaseSync(path, { timeout: busyTimeoutMs })
    prepareFile(file)
  } catch (error) {
    throw new StoreError(path, error)
  }
  const query = new Kysely<Tables>({ dialect: new SqliteDialect({ database: statementCache(file) }) })
  return {
    path,
    query,
    checkWritable: () => {
      try {
        file.exec('begin immediate; rollback')
      } catch (error) {
        throw new StoreError(path, error)
      }
    },
    stopWaiting: () => file.exec('pragma busy_timeout = 0'),
    close: async () => {
      await query.destroy()
      // Kysely closes only what it has used.
      if (file.isOpen) file.close()
    }
  }
}

/** The files SQLite puts beside it (`-wal`, `-shm`) take over the mode of the first. */
function createPrivately (dataDir: string, path: string): void {
  createDirectory(dataDir)
  closeSync(openSync(path, 'a', 0o600))
}

/**
 * Creates a directory and those above it, one at a time. Node's recursive form goes back and forth
 * for ever where a directory exists but answers ENOENT to whoever wants to add to it, as `/proc` does.
 */
function createDirectory (path: string): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) createDirectory(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process of the same gateway may have been faster.
    if (!existsSync(path)) throw error
  }
}

function prepareFile (file: DatabaseSyncInstance): void {
  try {
    // NORMAL with a write-ahead log: a power cut may lose the last commits, never the file.
    file.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on')
    migrate(file)
  } catch (error) {
    file.close()
    throw error
  }
}

/** Kysely prepares every query anew; a prepared statement is worth keeping. */
function statementCache (file: DatabaseSyncInstance): SqliteDatabase {
  const cache = new Map<string, ReturnType<SqliteDatabase['prepare']>>()
  return {
    close: () => {
      cache.clear()
      file.close()
    },
    prepare: sql => {
      const known = cache.get(sql)
      if (known !== undefined) return known
      if (cache.size >= cachedStatements) cache.clear()
      const statement = adapt(file.prepare(sql))
      cache.set(sql, statement)
      return statement
    }
  }
}

function adapt (statement: StatementSyncInstance): ReturnType<SqliteDatabase['prepare']> {
  return {
    reader: statement.columns().length > 0,
    all: values => statement.all(...values.map(bindable)),
    run: values => statement.run(...values.map(bindable)),
    iterate: values => statement.iterate(...values.map(bindable))
  }
}

type Bindable = string | number | bigint | null | Uint8Array

/** @throws TypeError for what SQLite has no column type for, which would be stored as `null`. */
function bindable (value: unknown): Bindable {
  if (value === null || typeof value === 'string' || typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Uint8Array) return value
  throw new TypeError(`a value of type ${typeof value} cannot be stored`)
}
