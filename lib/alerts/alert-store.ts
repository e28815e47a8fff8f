/**
 * Stores alerts and their deliveries, for all processes on one store. An existing alert is not changed, so
 * any number of processes may raise it, and raise it again after a crash.
 */

import { sql, type Kysely } from 'kysely'
import { dayMs } from '../core/day.ts'
import { pageOf, beyond, type PageOf, type PageRequest } from '../stores/pages.ts'
import { retryWhenLocked } from '../stores/retry-when-locked.ts'
import type { Alert as AlertEntry, AlertDelivery } from '../../schemas/admin/alerts.ts'
import type { Database } from '../stores/database.ts'
import type { AlertDeliveryRow, AlertRow, Tables } from '../stores/tables.ts'
import type { Alert } from './alert.ts'

/** A delivery for this process to carry out. */
export interface DueDelivery {
  readonly alert: Alert
  readonly channel: string
  /** Attempts so far, including this one. */
  readonly attempts: number
}

/** A condition that no process has checked for this long is over: those that checked it have ended. */
const forgottenAfterMs = 10 * 60_000

export class AlertStore {
  readonly #query: Kysely<Tables>
  readonly #skipLocked: Database['skipLocked']
  /** Returns the time by the clock that all processes share. */
  readonly now: () => number

  constructor ({ query, skipLocked, now }: Pick<Database, 'query' | 'skipLocked' | 'now'>) {
    this.#query = query
    this.#skipLocked = skipLocked
    this.now = now
  }

  /**
   * Claims work for all processes.
   *
   * @returns false while another claim with that name lasts
   */
  async lease (name: string, forMs: number): Promise<boolean> {
    const now = this.now()
    const row = { name, until_ms: now + forMs }
    const claimed = await retryWhenLocked(async () => await this.#query.insertInto('leases').values(row)
      .onConflict(conflict => conflict.column('name').doUpdateSet(row).where('leases.until_ms', '<=', now))
      .returning('name').executeTakeFirst())
    return claimed !== undefined
  }

  /**
   * Adds an alert with a delivery to each channel. An existing alert only has its life extended: a budget
   * without an end may be used up for years.
   *
   * Deliveries are added first and are carried out once their alert exists, so a process that ends in between
   * leaves nothing half done.
   */
  async raise (alert: Alert, deliveries: ReadonlyArray<Omit<AlertDeliveryRow, 'alert_id'>>): Promise<void> {
    const { id, event, atMs, message, data } = alert
    const now = this.now()
    const known = await this.#query.selectFrom('alerts').select('raised_ms')
      .where('id', '=', id).executeTakeFirst()
    if (known !== undefined) {
      if (known.raised_ms > now - dayMs) return
      await retryWhenLocked(async () => await this.#query.updateTable('alerts').set({ raised_ms: now })
        .where('id', '=', id).execute())
      return
    }
    if (deliveries.length > 0) {
      const rows = deliveries.map(delivery => ({ ...delivery, alert_id: id }))
      await retryWhenLocked(async () => await this.#query.insertInto('alert_deliveries').values(rows)
        .onConflict(conflict => conflict.doNothing()).execute())
    }
    const row = { id, event, at_ms: atMs, message, data: JSON.stringify(data), raised_ms: now }
    await retryWhenLocked(async () => await this.#query.insertInto('alerts').values(row)
      .onConflict(conflict => conflict.doNothing()).execute())
  }

  /** Takes due deliveries to some channels. They are due again when the lease ends. */
  async takeDue (channels: readonly string[], limit: number, leaseMs: number): Promise<DueDelivery[]> {
    if (channels.length === 0) return []
    const now = this.now()
    const taken = await retryWhenLocked(async () => await this.#query.updateTable('alert_deliveries')
      .set({ next_at_ms: now + leaseMs, attempts: sql`attempts + 1` })
      .where(sql<boolean>`(alert_id, channel) in ${this.#skipLocked(
        this.#query.selectFrom('alert_deliveries').select(['alert_id', 'channel'])
          .where('state', '=', 'pending').where('next_at_ms', '<=', now).where('channel', 'in', channels)
          .where('alert_id', 'in', this.#query.selectFrom('alerts').select('id'))
          .orderBy('next_at_ms').limit(limit)
      )}`)
      .returning(['alert_id', 'channel', 'attempts']).execute())
    if (taken.length === 0) return []
    const rows = await this.#query.selectFrom('alerts').selectAll()
      .where('id', 'in', taken.map(({ alert_id: id }) => id)).execute()
    return taken.flatMap(({ alert_id: id, channel, attempts }) => {
      const row = rows.find(row => row.id === id)
      return row === undefined ? [] : [{ alert: alertOfRow(row), channel, attempts }]
    })
  }

  /** Records the outcome of an attempt. */
  async finish (
    alertId: string,
    channel: string,
    outcome: Partial<Pick<AlertDeliveryRow, 'state' | 'next_at_ms' | 'error' | 'delivered_at_ms'>>
  ): Promise<void> {
    await retryWhenLocked(
      async () =>
        await this.#query
          .updateTable('alert_deliveries')
          .set(outcome)
          .where('alert_id', '=', alertId)
          .where('channel', '=', channel)
          .where('state', '=', 'pending')
          .execute()
    )
  }

  /**
   * Records that a condition holds.
   *
   * @returns since when it holds
   */
  async begin (name: string): Promise<number> {
    const now = this.now()
    const { since_ms: sinceMs } = await retryWhenLocked(
      async () =>
        await this.#query
          .insertInto('alert_conditions')
          .values({ name, since_ms: now, seen_ms: now })
          .onConflict(conflict =>
            conflict.column('name').doUpdateSet({
              seen_ms: now,
              since_ms: sql`case when alert_conditions.seen_ms <= ${now - forgottenAfterMs} then excluded.since_ms else alert_conditions.since_ms end`
            })
          )
          .returning('since_ms')
          .executeTakeFirstOrThrow()
    )
    return sinceMs
  }

  /** Records that a condition that has begun is not known to be over. */
  async keep (name: string): Promise<void> {
    const now = this.now()
    await retryWhenLocked(async () => await this.#query.updateTable('alert_conditions').set({ seen_ms: now })
      .where('name', '=', name).where('seen_ms', '>', now - forgottenAfterMs).execute())
  }

  /** Returns since when a condition holds; `undefined` if it does not hold. */
  async since (name: string): Promise<number | undefined> {
    const row = await this.#query.selectFrom('alert_conditions').select('since_ms')
      .where('name', '=', name).where('seen_ms', '>', this.now() - forgottenAfterMs).executeTakeFirst()
    return row?.since_ms
  }

  /** Returns when a condition was last seen to hold; `undefined` if it does not hold. */
  async seenMs (name: string): Promise<number | undefined> {
    const row = await this.#query.selectFrom('alert_conditions').select('seen_ms')
      .where('name', '=', name).where('seen_ms', '>', this.now() - forgottenAfterMs).executeTakeFirst()
    return row?.seen_ms
  }

  /** Records that a condition is over. */
  async end (name: string): Promise<void> {
    await retryWhenLocked(async () =>
      await this.#query.deleteFrom('alert_conditions').where('name', '=', name).execute())
  }

  /** Lists alerts with their deliveries, newest first. */
  async list (event: string | undefined, page: PageRequest): Promise<PageOf<AlertEntry>> {
    let rows = this.#query.selectFrom('alerts').selectAll().where(beyond(page, 'at_ms', 'id', 'desc'))
    if (event !== undefined) rows = rows.where('event', '=', event)
    const found = await rows.orderBy('at_ms', 'desc').orderBy('id', 'desc').limit(page.limit + 1).execute()
    const deliveries = found.length === 0
      ? []
      : await this.#query.selectFrom('alert_deliveries').selectAll()
        .where('alert_id', 'in', found.map(({ id }) => id)).orderBy('channel').execute()
    return pageOf(found, page, ({ at_ms: ms, id }) => ({ ms, id }), row => {
      const { id, event, atMs, message, data } = alertOfRow(row)
      return {
        id, event, at_ms: atMs, message, data: { ...data },
        deliveries: deliveries.filter(({ alert_id: alertId }) => alertId === id).map(deliveryOfRow)
      }
    })
  }

  /** Deletes alerts last raised before a given time. */
  async prune (beforeMs: number): Promise<void> {
    // A gateway of an earlier version writes no `raised_ms`.
    const old = this.#query.selectFrom('alerts').select('id')
      .where('raised_ms', '<', beforeMs).where('at_ms', '<', beforeMs)
    await retryWhenLocked(async () =>
      await this.#query.deleteFrom('alert_deliveries').where('alert_id', 'in', old).execute())
    await retryWhenLocked(async () =>
      await this.#query.deleteFrom('alerts').where('id', 'in', old).execute())
  }
}

function alertOfRow ({ id, event, at_ms: atMs, message, data }: AlertRow): Alert {
  // both were written above
  return { id, event: event as Alert['event'], atMs, message, data: JSON.parse(data) as Alert['data'] }
}

function deliveryOfRow (row: AlertDeliveryRow): AlertDelivery {
  const { channel, state, attempts, error, next_at_ms: nextAtMs, delivered_at_ms: deliveredAtMs } = row
  return {
    channel, state, attempts, error,
    next_at_ms: state === 'pending' ? nextAtMs : null,
    delivered_at_ms: deliveredAtMs
  }
}
