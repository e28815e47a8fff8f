/**
 * Alerts about the store itself, which cannot be stored: this process sends them, and so does every other one
 * that notices the outage. Their id is that of the hour and of the outage within it, so that receivers can
 * drop duplicates. Once the store is available again, they are stored as well.
 */

import type { AlertDeliveryRow } from '../stores/tables.ts'
import { alertOf, type Alert } from './alert.ts'

type Delivery = Omit<AlertDeliveryRow, 'alert_id'>

export interface StoreOutageOptions {
  /** Returns the names of the channels of an event. */
  readonly channels: (event: 'store.away' | 'store.back') => readonly string[]
  /** Sends an alert once. */
  readonly send: (alert: Alert, channel: string) => Promise<Partial<Delivery>>
  readonly retryMs: readonly number[]
  /** An outage that has begun before. Default: none has. */
  readonly state?: OutageState
}

/** The alert of an outage that goes on, and its deliveries; outlives the configuration that sent it. */
export interface OutageState {
  alert?: Alert | undefined
  deliveries?: readonly Delivery[]
  /** What distinguishes the last outage from others: its hour, and which one of this hour it was. */
  identity?: readonly [hourMs: number, number: number]
}

const hourMs = 3_600_000

export class StoreOutage {
  readonly #options: StoreOutageOptions
  readonly #state: OutageState

  constructor (options: StoreOutageOptions) {
    this.#options = options
    this.#state = options.state ?? {}
  }

  /** Sends the alert that the store is unreachable, to the channels that have not received it. */
  async report (nowMs: number): Promise<void> {
    const { channels, send, retryMs } = this.#options
    if (this.#state.alert === undefined) {
      this.#state.alert = alertOf({
        event: 'store.away',
        message: 'The store cannot be reached or written: usage records wait in files.',
        data: {}
      }, this.#nextIdentity(nowMs), nowMs)
      this.#state.deliveries = channels('store.away').map(channel => waiting(channel, nowMs))
    }
    const { alert, deliveries = [] } = this.#state
    this.#state.deliveries = await Promise.all(deliveries.map(async (delivery): Promise<Delivery> => {
      if (delivery.state !== 'pending' || delivery.next_at_ms > nowMs) return delivery
      const outcome = await send(alert, delivery.channel)
      const waitMs = retryMs[delivery.attempts]
      return {
        ...delivery,
        attempts: delivery.attempts + 1,
        next_at_ms: nowMs + (waitMs ?? 0),
        ...outcome,
        ...outcome.state === 'pending' && waitMs === undefined && { state: 'failed' }
      }
    }))
  }

  /** Returns what to store now that the store is available again; nothing if no alert was sent. */
  over (): ReadonlyArray<{ readonly alert: Alert, readonly deliveries: readonly Delivery[] }> {
    const { alert: away, deliveries = [], identity } = this.#state
    if (away === undefined || identity === undefined) return []
    const nowMs = Date.now()
    const back = alertOf({
      event: 'store.back',
      message: 'The store can be used again.',
      data: { since: new Date(away.atMs).toISOString() }
    }, identity, nowMs)
    return [
      { alert: away, deliveries },
      {
        alert: back,
        deliveries: this.#options.channels('store.back').map(channel => waiting(channel, nowMs))
      }
    ]
  }

  /** Ends the outage, once that is stored. */
  forget (): void {
    this.#state.alert = undefined
    this.#state.deliveries = []
  }

  #nextIdentity (nowMs: number): readonly [number, number] {
    const [lastHour, number] = this.#state.identity ?? [NaN, 0]
    const hour = hourOf(nowMs)
    return this.#state.identity = [hour, hour === lastHour ? number + 1 : 1]
  }
}

function hourOf (ms: number): number {
  return ms - ms % hourMs
}

/** Returns a delivery that is due at a given time. */
export function waiting (channel: string, atMs: number): Delivery {
  return { channel, state: 'pending', attempts: 0, next_at_ms: atMs, error: null, delivered_at_ms: null }
}
