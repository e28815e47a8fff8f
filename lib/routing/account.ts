/**
 * When another attempt at the same model is worth it, and after how long.
 *
 * Retries are a tenth of what an endpoint asks of a provider at most, so a provider in trouble is
 * not buried under them. What it said about waiting holds for every call on the gateway's own
 * credential; a caller with a key of their own has an account of their own.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayError } from '../errors.ts'

/** Longer waits are left to the caller, who is told of them by `retry-after`. */
const longestWaitMs = 20_000
const firstBackoffMs = 250
const longestBackoffMs = 4000
/** Retries that are free, before the tenth counts. */
const spareRetries = 10

/** What is known of one credential at one provider. */
export class Account {
  #retriesLeft = spareRetries
  #notBeforeMs = 0

  /** Every first attempt earns a tenth of a retry; every retry costs one. */
  count (retry: number): void {
    this.#retriesLeft = Math.min(spareRetries, this.#retriesLeft + (retry === 0 ? 0.1 : -1))
  }

  /** True while the provider has asked to be left alone. */
  get held (): boolean {
    return this.#notBeforeMs > performance.now()
  }

  /**
   * Milliseconds until the same model may be tried again, or `undefined` for never: the fault is
   * the caller's or the credential's, the wait is too long, the budget is used up, or another
   * model of the list can be asked at once.
   */
  waitMs (failure: GatewayError, retry: number, isLast: boolean): number | undefined {
    const askedMs = (failure.retryAfterSeconds ?? 0) * 1000
    if (askedMs > 0) this.#notBeforeMs = Math.max(this.#notBeforeMs, performance.now() + askedMs)
    if (failure.failure !== 'transient' && failure.failure !== 'rate-limit') return undefined
    if (!isLast && (failure.failure === 'rate-limit' || retry > 0)) return undefined
    if (this.#retriesLeft < 1) return undefined
    const heldMs = this.#notBeforeMs - performance.now()
    const backoffMs = retry === 0 && wasStaleSocket(failure) ? 0 : jitter(firstBackoffMs * 2 ** retry)
    const waitMs = Math.max(heldMs, Math.min(backoffMs, longestBackoffMs))
    return waitMs > longestWaitMs ? undefined : waitMs
  }
}

/** The accounts of the gateway's own credentials, by provider. */
export class Accounts {
  readonly #accounts = new Map<string, Account>()

  of (providerId: string): Account {
    let account = this.#accounts.get(providerId)
    if (account === undefined) this.#accounts.set(providerId, account = new Account())
    return account
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
