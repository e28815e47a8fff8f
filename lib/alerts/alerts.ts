/**
 * Sends alerts: checks the rules, and delivers what waits in the store, whichever process raised it. All
 * state is in the store, except that the store itself is unreachable.
 */

import { randomUUID } from 'node:crypto'
import { Outage } from '../async/outage.ts'
import { startDeadline, tooLate } from '../async/start-deadline.ts'
import { loggableError, describeError } from '../text/describe-error.ts'
import type { AlertDelivery, AlertPage } from '../../schemas/admin/alerts.ts'
import type { AlertEvent } from '../../schemas/config/alerts.ts'
import type { Log } from '../log/log.ts'
import type { PageRequest } from '../stores/pages.ts'
import type { AlertDeliveryRow } from '../stores/tables.ts'
import { alertOf, Undeliverable, type Alert, type Channel } from './alert.ts'
import type { Condition, Findings } from './alert-rules.ts'
import type { AlertStore, DueDelivery } from './alert-store.ts'
import { StoreOutage, waiting, type OutageState } from './store-outage.ts'

export interface AlertsOptions {
  /** By `webhooks.NAME` or `emails.NAME`. */
  readonly channels: ReadonlyMap<string, Channel>
  readonly store: AlertStore
  /** Find the causes of alerts in the store, by name. */
  readonly rules: Readonly<Record<string, (nowMs: number) => Promise<Findings>>>
  /** Names what fails in this process, like `/health`. */
  readonly degraded: () => readonly string[]
  readonly log: Log
  /** An outage of the store that alerts of the last configuration have noticed. Default: none. */
  readonly outage?: OutageState
  readonly onClose?: () => Promise<void>
  /** Milliseconds between two checks of the rules, over all processes. Default: a minute. */
  readonly rulesMs?: number
  /** Milliseconds after which an outage of Redis that no process sees is over. Default: a minute. */
  readonly unseenMs?: number
  /** Maximum duration of an attempt. Default: 10 seconds. */
  readonly attemptMs?: number
  /** Milliseconds after which another process retries a delivery that this one has taken and not finished. */
  readonly leaseMs?: number
  /** Milliseconds to wait after each failed attempt except the last. */
  readonly retryMs?: readonly number[]
}

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const defaultRetryMs = [
  10 * secondMs, 30 * secondMs, 2 * minuteMs, 10 * minuteMs, 30 * minuteMs,
  hourMs, 2 * hourMs, 4 * hourMs, 8 * hourMs
]

const redisOutage = {
  began: {
    event: 'coordination.away',
    message: 'Redis cannot be reached: limits are decided without it.',
    data: {}
  },
  ended: { event: 'coordination.back', message: 'Redis can be reached again.', data: {} }
} as const

/** Deliveries in flight at once. */
const parallel = 8

/** Maximum length of a description of a failure. */
const maxErrorLength = 300

export class Alerts {
  readonly #options: Required<Omit<AlertsOptions, 'outage'>>
  readonly #closing = new AbortController()
  readonly #outage: StoreOutage
  /** What failed in the last check; an alert needs two consecutive failures. */
  #degradedBefore: ReadonlySet<string> = new Set()
  /** When this process last recorded that Redis is unreachable. */
  #seenMs: number | undefined
  /** True if the store may have an outage of Redis to end, such as one from before a restart. */
  #mayEnd = true
  #polling: Promise<void> | undefined
  #delivering: Promise<void> | undefined
  readonly #storeReads = new Outage({
    onBegin: error => {
      this.#options.log.warn({ cause: loggableError(error) }, 'failed to read alerts from the store')
    }
  })

  constructor (options: AlertsOptions) {
    this.#options = {
      onClose: async () => undefined,
      rulesMs: minuteMs, unseenMs: minuteMs, attemptMs: 10 * secondMs, leaseMs: minuteMs,
      retryMs: defaultRetryMs,
      ...options
    }
    this.#outage = new StoreOutage({
      channels: name => this.#channelsOf(name).map(([channel]) => channel),
      send: async (alert, channel) => await this.#attempt(alert, channel),
      retryMs: this.#options.retryMs,
      ...options.outage !== undefined && { state: options.outage }
    })
  }

  /** Checks what to send, and sends what waits. Called every few seconds; a check in progress continues. */
  poll (): void {
    this.#polling ??= this.#poll().catch(this.#storeReads.failed).finally(() => { this.#polling = undefined })
  }

  /** Lists alerts, newest first. */
  async list (event: string | undefined, page: PageRequest): Promise<AlertPage> {
    return await this.#options.store.list(event, page)
  }

  get channels (): ReadonlyMap<string, Channel> {
    return this.#options.channels
  }

  /**
   * Sends a test to a channel, once.
   *
   * @returns the outcome; `undefined` if there is no such channel
   */
  async test (channel: string, by: string): Promise<AlertDelivery | undefined> {
    const { channels, store, leaseMs } = this.#options
    if (!channels.has(channel)) return undefined
    const text = { event: 'test', message: `Test alert, sent by ${by}.`, data: { by } } as const
    const alert = alertOf(text, [randomUUID()], store.now())
    await store.raise(alert, [{ ...waiting(channel, store.now() + leaseMs), attempts: 1 }])
    const outcome = await this.#attempt(alert, channel)
    const delivery = outcome.state === 'delivered' ? outcome : { ...outcome, state: 'failed' as const }
    await store.finish(alert.id, channel, delivery)
    return {
      channel, attempts: 1, next_at_ms: null, delivered_at_ms: null, ...delivery
    }
  }

  /** Ends deliveries in flight; another process sends them, or this one after its next start. */
  readonly close = async (): Promise<void> => {
    this.#closing.abort(new Error('the gateway is stopping'))
    await this.#polling
    await this.#delivering
    await Promise.all([...this.#options.channels.values()].map(async ({ close }) => await close()))
    await this.#options.onClose()
  }

  async #poll (): Promise<void> {
    if (this.#closing.signal.aborted) return
    const { store, degraded, rulesMs } = this.#options
    const now = new Set(degraded())
    const lasting = new Set([...now].filter(part => this.#degradedBefore.has(part)))
    this.#degradedBefore = now
    if (now.has('store') || now.has('ledger')) {
      if (lasting.has('store') || lasting.has('ledger')) await this.#outage.report(Date.now())
      return
    }
    for (const { alert, deliveries } of this.#outage.over()) await store.raise(alert, deliveries)
    this.#outage.forget()
    await this.#watchCoordination(now.has('coordination'), lasting.has('coordination'))
    if (await store.lease('alert rules', rulesMs)) await this.#checkRules()
    this.#deliver()
    this.#storeReads.succeeded()
  }

  /**
   * Each process may lose Redis alone. An outage is over when the process that saw it last has Redis again,
   * or when no process has seen it for a minute.
   */
  async #watchCoordination (isUnreachable: boolean, lasts: boolean): Promise<void> {
    const { store, unseenMs } = this.#options
    const name = 'coordination'
    if (lasts || (isUnreachable && this.#seenMs !== undefined)) {
      await this.#apply({ ...redisOutage, name, holds: true })
      this.#seenMs = await store.seenMs(name)
      this.#mayEnd = true
    } else if (!isUnreachable && this.#mayEnd) {
      const seenMs = await store.seenMs(name)
      const isSeenElsewhere = seenMs !== undefined && seenMs !== this.#seenMs
      if (isSeenElsewhere && seenMs > store.now() - unseenMs) return
      await this.#apply({ ...redisOutage, name, holds: false })
      this.#seenMs = undefined
      this.#mayEnd = false
    }
  }

  /** A rule that fails does not prevent the others from being checked. */
  async #checkRules (): Promise<void> {
    const { store, rules, log } = this.#options
    for (const [name, rule] of Object.entries(rules)) {
      try {
        const { alerts = [], conditions = [] } = await rule(store.now())
        for (const alert of alerts) await this.#raise(alert)
        for (const condition of conditions) await this.#apply(condition)
      } catch (error) {
        log.warn({ rule: name, cause: loggableError(error) }, 'an alert rule could not be checked')
      }
    }
    await store.prune(store.now() - keptMs)
  }

  /**
   * Raises the alert of a condition that begins or ends. The end is raised before it is recorded, so that a
   * crash loses none.
   */
  async #apply ({ name, holds, began, ended }: Condition): Promise<void> {
    const { store } = this.#options
    if (holds === undefined) await store.keep(name)
    else if (holds) {
      const sinceMs = await store.begin(name)
      await this.#raise(alertOf(began, [name, sinceMs], sinceMs))
    } else {
      const sinceMs = await store.since(name)
      if (sinceMs === undefined) return
      const since = new Date(sinceMs).toISOString()
      await this.#raise(alertOf({ ...ended, data: { ...ended.data, since } }, [name, sinceMs], store.now()))
      await store.end(name)
    }
  }

  async #raise (alert: Alert): Promise<void> {
    const { store } = this.#options
    const deliveries = this.#channelsOf(alert.event).map(([channel]) => waiting(channel, alert.atMs))
    await store.raise(alert, deliveries)
  }

  #channelsOf (event: AlertEvent | 'test'): Array<readonly [name: string, channel: Channel]> {
    return [...this.#options.channels].filter(([, { events }]) => events.some(wanted => wanted === event))
  }

  /** Delivers what waits, in parallel with further checks: a receiver may be slow. */
  #deliver (): void {
    this.#delivering ??= this.#deliverDue().catch(this.#storeReads.failed).finally(() => {
      this.#delivering = undefined
    })
  }

  async #deliverDue (): Promise<void> {
    const { store, channels, leaseMs } = this.#options
    while (!this.#closing.signal.aborted) {
      const due = await store.takeDue([...channels.keys()], parallel, leaseMs)
      if (due.length === 0) return
      await Promise.all(due.map(async delivery => await this.#carryOut(delivery)))
    }
  }

  async #carryOut ({ alert, channel, attempts }: DueDelivery): Promise<void> {
    const { store, retryMs, log } = this.#options
    const outcome = await this.#attempt(alert, channel)
    const waitMs = this.#closing.signal.aborted ? 0 : retryMs[attempts - 1]
    if (outcome.state === 'pending' && waitMs === undefined) {
      log.error({ alert: alert.id, channel, error: outcome.error }, 'an alert could not be delivered')
    }
    await store.finish(alert.id, channel, outcome.state !== 'pending'
      ? outcome
      : { ...outcome, ...waitMs === undefined ? { state: 'failed' } : { next_at_ms: store.now() + waitMs } })
  }

  /**
   * Sends an alert once.
   *
   * @returns `pending` if another attempt may succeed
   */
  async #attempt (
    alert: Alert,
    channel: string
  ): Promise<Pick<AlertDeliveryRow, 'state' | 'error'> & { readonly delivered_at_ms?: number }> {
    const { channels, attemptMs } = this.#options
    const { signal, end } = startDeadline(attemptMs, this.#closing.signal, tooLate(attemptMs))
    try {
      const note = await channels.get(channel)?.send(alert, signal)
      return { state: 'delivered', error: note ?? null, delivered_at_ms: Date.now() }
    } catch (error) {
      const state = error instanceof Undeliverable ? 'failed' : 'pending'
      return { state, error: describeError(error).slice(0, maxErrorLength) }
    } finally {
      end()
    }
  }
}

/** How long alerts are listed. */
const keptMs = 90 * 24 * hourMs
