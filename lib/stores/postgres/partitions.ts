/** The partitions of the usage ledger: one per month, created with its first row. */

import { monthOf } from '../../core/day.ts'
import { locked } from './lock.ts'
import type { ServerConnections } from './server-connections.ts'

export interface Partition {
  readonly name: string
  readonly fromMs: number
  readonly endMs: number
  /** PostgreSQL's estimate. */
  readonly rows: number
}

const form = /^usage_(\d{4,6})_(\d{2})$/

export class Partitions {
  readonly #server: Pick<ServerConnections, 'use'>
  readonly #created = new Set<number>()

  constructor (server: Pick<ServerConnections, 'use'>) {
    this.#server = server
  }

  /** Creates missing partitions for these times. */
  async make (moments: Iterable<number>): Promise<void> {
    for (const fromMs of new Set(Array.from(moments, ms => monthOf(ms)))) {
      if (this.#created.has(fromMs)) continue
      await this.#server.use(
        async client =>
          await locked(client, async () => {
            await client.query(
              `create table if not exists ${partitionName(fromMs)} partition of usage for values from (${fromMs}) to (${monthOf(fromMs, 1)})`
            )
          })
      )
      this.#created.add(fromMs)
    }
  }

  /** Forgets known partitions, because another gateway may have dropped some. */
  forget (): void {
    this.#created.clear()
  }

  /** Lists the partitions, newest first. */
  async list (): Promise<Partition[]> {
    const { rows } = await this.#server.use(
      async client =>
        await client.query<{ name: string, rows: number }>(
          `select relname as name, greatest(reltuples, 0)::bigint as rows
       from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'usage'::regclass`
        )
    )
    return rows
      .flatMap(({ name, rows: count }) => {
        const [, year, month] = form.exec(name) ?? []
        const fromMs = Date.UTC(Number(year), Number(month) - 1)
        return Number.isNaN(fromMs) ? [] : [{ name, fromMs, endMs: monthOf(fromMs, 1), rows: count }]
      })
      .toSorted((a, b) => b.fromMs - a.fromMs)
  }

  /**
   * Drops a partition. Gives up after a second: while it waits for a long query, all later queries wait
   * behind it.
   */
  async drop (name: string): Promise<void> {
    await this.#server.use(async client => await locked(client, async () => {
      await client.query(`set local lock_timeout = '1s'; drop table if exists ${name}`)
    }))
    this.forget()
  }
}

function partitionName (fromMs: number): string {
  const date = new Date(fromMs)
  return `usage_${date.getUTCFullYear()}_${String(date.getUTCMonth() + 1).padStart(2, '0')}`
}
