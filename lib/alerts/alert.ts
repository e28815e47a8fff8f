/** Defines an alert: a fact that people should hear of once, whichever process notices it. */

import { createHash } from 'node:crypto'
import type { AlertEvent } from '../../schemas/config/alerts.ts'

export interface Alert {
  /** The same in every process and attempt, so that receivers can drop duplicates. */
  readonly id: string
  readonly event: AlertEvent | 'test'
  /** When it was noticed, in Unix milliseconds. */
  readonly atMs: number
  /** One sentence, for people. */
  readonly message: string
  /** Facts in JSON, for programs. */
  readonly data: Readonly<Record<string, unknown>>
}

/** An alert before it has an id and a time. */
export type AlertText = Pick<Alert, 'event' | 'message' | 'data'>

/**
 * Creates an alert.
 *
 * @param identity distinguishes it from other alerts of the event: the party, the threshold, the window
 */
export function alertOf (text: AlertText, identity: ReadonlyArray<string | number>, atMs: number): Alert {
  const digest = createHash('sha256').update(JSON.stringify([text.event, ...identity])).digest('base64url')
  return { id: `alert_${digest.slice(0, 22)}`, atMs, ...text }
}

/** Prints the body of an alert, as Standard Webhooks recommends: the same bytes in every attempt. */
export function alertBody ({ event, atMs, message, data }: Alert): string {
  const timestamp = new Date(atMs).toISOString()
  return JSON.stringify({ type: event, timestamp, data: { message, ...data } })
}

/** A receiver of alerts. */
export interface Channel {
  /** Shown to operators: an address without secrets. */
  readonly target: string
  readonly events: readonly AlertEvent[]
  /**
   * Sends an alert once.
   *
   * @returns a note for the log of deliveries; usually nothing
   * @throws Undeliverable when another attempt would be useless; Error when one may succeed
   */
  readonly send: (alert: Alert, signal: AbortSignal) => Promise<string | undefined>
  readonly close: () => Promise<void>
}

/** The receiver wants no more attempts. */
export class Undeliverable extends Error {}
