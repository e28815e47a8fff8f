import { Outage } from '../async/outage.ts'
import { defaultProject } from '../core/key.ts'
import type { KeySettings } from '../core/settings.ts'
import type { Database } from '../stores/database.ts'
import { entriesOfRow, guardsOf } from './key-rows.ts'
import { LoadedKeys, type Entries } from './loaded-keys.ts'

export interface PollOptions {
  /** Milliseconds between two polls. Default 500. */
  readonly pollMs?: number
  /** Milliseconds for which keys stay valid while the store cannot be read. Default: for ever. */
  readonly staleMs?: number
  /** Called for the first failed poll after a successful one; the loaded keys stay valid. */
  readonly onFailure?: (error: unknown) => void
}

/**
 * Reads the keys of the store, and polls it twice a second for keys that another process created or revoked.
 * Polling is one query on a small table, works on any database and file system, and costs a running gateway
 * some 60 µs a second; watching the file would wake up for every unrelated write.
 */
export class KeyPoller {
  readonly keys: LoadedKeys
  readonly #outage: Outage
  readonly #query: Database['query']
  readonly #options: PollOptions
  #timer: NodeJS.Timeout | undefined
  /** One poll at a time, however slow the store is. */
  #isPolling = false
  #readMs = performance.now()
  /** The result of `countChanges` when the keys were read. */
  #seen = ''
  #begunReads = 0
  #loadedRead = 0

  constructor (query: Database['query'], configured: readonly KeySettings[], options: PollOptions) {
    this.keys = new LoadedKeys(configured, () => this.#isTooOld())
    this.#query = query
    this.#options = options
    this.#outage = new Outage({ onBegin: error => options.onFailure?.(error) })
  }

  /** True while the store cannot be read. */
  get isStale (): boolean {
    return this.#outage.isOngoing
  }

  /**
   * Reads the keys and starts polling.
   *
   * @throws the error of the database if it cannot be read
   */
  async start (): Promise<void> {
    await this.#readChanges()
    this.#readMs = performance.now()
    this.#timer = setInterval(() => this.poll(), this.#options.pollMs ?? 500).unref()
  }

  /** Reads the keys now. @throws the error of the database */
  async read (): Promise<void> {
    await this.#read(await countChanges(this.#query))
  }

  /** Checks for changes now, unless it is already doing so. */
  poll (): void {
    if (this.#isPolling) return
    this.#isPolling = true
    this.#readChanges().then(() => {
      this.#outage.succeeded()
      this.#readMs = performance.now()
    }, (error: unknown) => {
      this.#outage.failed(error)
      if (this.#isTooOld()) this.keys.recheck()
    }).finally(() => { this.#isPolling = false })
  }

  close (): void {
    clearInterval(this.#timer)
  }

  async #readChanges (): Promise<void> {
    const counts = await countChanges(this.#query)
    if (counts !== this.#seen) await this.#read(counts)
  }

  async #read (counts: string): Promise<void> {
    const number = ++this.#begunReads
    const { entries, defaultGuards } = await readStored(this.#query)
    // A read that began earlier may end later: it lacks keys created since, and still has revoked ones.
    if (number < this.#loadedRead) return
    this.#loadedRead = number
    this.keys.setStored(entries, defaultGuards)
    this.#seen = counts
  }

  #isTooOld (): boolean {
    return this.isStale && performance.now() - this.#readMs > (this.#options.staleMs ?? Infinity)
  }
}

/**
 * Counts rows and their changes. Rows are never deleted, so the counts reveal every change of a key. The
 * default project may have no row.
 */
async function countChanges (query: Database['query']): Promise<string> {
  const { made, revoked, changes, stages } = await query
    .selectFrom('keys')
    .select(keys => [
      keys.fn.countAll().as('made'),
      keys.fn.count('revoked_at_ms').as('revoked'),
      keys.fn.sum('changes').as('changes'),
      keys.selectFrom('projects').select('stages').where('id', '=', defaultProject).as('stages')
    ])
    .executeTakeFirstOrThrow()
  return `${made} ${revoked} ${changes} ${stages ?? ''}`
}

/** Reads the keys that are not revoked, with the rules of their projects. */
async function readStored (
  query: Database['query']
): Promise<{ readonly entries: Entries, readonly defaultGuards: readonly string[] | undefined }> {
  const rows = await query.selectFrom('keys').selectAll().where('revoked_at_ms', 'is', null).execute()
  const projects = new Map(
    (await query.selectFrom('projects').selectAll().execute()).map(project => [project.id, project])
  )
  const owners = new Map(
    (
      await query
        .selectFrom('users')
        .select(['id', 'name', 'limits'])
        .where('limits', 'is not', null)
        .execute()
    ).map(user => [user.id, user])
  )
  const ownProject = projects.get(defaultProject)
  return {
    entries: new Map(rows.flatMap(row => (
      entriesOfRow(row, projects.get(row.project_id), owners.get(row.owner_id ?? ''))
    ))),
    defaultGuards: ownProject && guardsOf(ownProject)
  }
}
