/**
 * When another attempt at the same model is worth it, and after how long.
 *
 * Retries are a tenth of what this process asks of a provider at most, so a provider in trouble is
 * not buried under them. What it said about waiting holds for every call on the gateway's own
 * credential; a caller with a key of their own has an account of their own.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayError } from '../core/errors.ts'

/** Longer waits are left to the caller, who is told of them by `retry-after`. */
const longestWaitMs = 20_000
const firstBackoffMs = 250
const longestBackoffMs = 4000
/** Retries that are free, before the tenth counts. */
const spareRetries = 10

/** How long a used-up quota is believed to stay so, where the provider does not say. */
const quotaMs = 60_000

/** What is known of one credential at one provider. */
export class RetryBudget {
  readonly #now: () => number
  #retriesLeft = spareRetries
  #notBeforeMs = 0

  /** @param now milliseconds of a clock that never goes back */
  constructor (now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** To be called for every first attempt: it earns a tenth of a retry. */
  onAttempt (): void {
    this.#retriesLeft = Math.min(spareRetries, this.#retriesLeft + 0.1)
  }

  /** Milliseconds for which the provider has asked to be left alone, from now on. */
  get cooldownMs (): number {
    return this.#notBeforeMs === 0 ? 0 : Math.max(0, this.#notBeforeMs - this.#now())
  }

  /** Remembers what the provider said about waiting. */
  record ({ code, retryAfterSeconds }: GatewayError): void {
    const said = (retryAfterSeconds ?? 0) * 1000
    const askedMs = said === 0 && code === 'upstream_quota_exhausted' ? quotaMs : said
    if (askedMs > 0) this.#notBeforeMs = Math.max(this.#notBeforeMs, this.#now() + askedMs)
  }

  /**
   * Milliseconds until the same model may be tried again, or `undefined` for never: the fault is
   * the caller's or the credential's, the wait is too long, the budget is used up, or another
   * model of the list can be asked at once. A wait that is granted has its retry paid for: of many
   * calls that fail at the same moment, only as many try again as the budget has.
   */
  backoffMs (failure: GatewayError, retry: number, isLast: boolean): number | undefined {
    if (failure.failure !== 'transient' && failure.failure !== 'rate-limit') return undefined
    if (!isLast && (failure.failure === 'rate-limit' || retry > 0)) return undefined
    if (this.#retriesLeft < 1) return undefined
    const backoffMs = retry === 0 && wasStaleSocket(failure) ? 0 : jitter(firstBackoffMs * 2 ** retry)
    const waitMs = Math.max(this.cooldownMs, Math.min(backoffMs, longestBackoffMs))
    if (waitMs > longestWaitMs) return undefined
    this.#retriesLeft--
    return waitMs
  }
}

/** @throws the signal's reason when it aborts first */
export async function pause (ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  }
}

function jitter (ms: number): number {
  return ms * (0.75 + Math.random() / 4)
}

/** A kept-alive socket that the server closed at the same moment: a fresh one will do, at once. */
function wasStaleSocket ({ code, cause }: GatewayError): boolean {
  const reason: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
  return code === 'upstream_unreachable' && (reason === 'UND_ERR_SOCKET' || reason === 'ECONNRESET')
}
