/**
 * Throttles sign-in attempts by address, by user, and by both together, so that a guesser is stopped soon and
 * cannot lock the user out from elsewhere. Counts are kept in the process. Each of the three has its own
 * limit: an attacker can invent any number of pairs, and these must not displace addresses or users.
 */

import { isIPv6 } from 'node:net'
import { ExpiringMap } from '../async/expiring-map.ts'
import { GatewayError } from '../core/errors.ts'

const windowMs = 15 * 60_000
const maxRemembered = 10_000
const limits = { both: 5, address: 30, user: 100 } as const

type Kind = keyof typeof limits

interface Count {
  failures: number
  /** When it is forgotten, by `performance.now()`. */
  readonly untilMs: number
}

export class Throttle {
  readonly #counts: Readonly<Record<Kind, ExpiringMap<Count>>> = {
    both: new ExpiringMap(maxRemembered),
    address: new ExpiringMap(maxRemembered),
    user: new ExpiringMap(maxRemembered)
  }

  /**
   * Counts an attempt before its outcome is known, so that simultaneous attempts count as well. A refused
   * attempt is not counted.
   *
   * @param user the claimed user; empty if there is none
   * @throws GatewayError `rate_limit_exceeded` after too many failures in the last quarter of an hour
   */
  begin (address: string, user: string): void {
    const counted = entries(address, user)
    const nowMs = performance.now()
    const untilMs = Math.max(...counted.map(([kind, key]) => this.#refusedUntilMs(kind, key)))
    if (untilMs > nowMs) throw tooMany(untilMs - nowMs)
    for (const [kind, key] of counted) {
      const count = this.#counts[kind].get(key)
      if (count === undefined)
        this.#counts[kind].set(key, { failures: 1, untilMs: nowMs + windowMs }, windowMs)
      else count.failures++
    }
  }

  /** Returns when attempts are accepted again; 0 if they are now. */
  #refusedUntilMs (kind: Kind, key: string): number {
    const count = this.#counts[kind].get(key)
    return count !== undefined && count.failures >= limits[kind] ? count.untilMs : 0
  }

  /**
   * Takes back a successful attempt, and forgets the failures of this user at this address: others may still
   * guess.
   */
  succeeded (address: string, user: string): void {
    for (const [kind, key] of entries(address, user)) {
      const count = this.#counts[kind].get(key)
      if (kind === 'both') this.#counts.both.delete(key)
      else if (count !== undefined) count.failures--
    }
  }
}

/** Maximum failed sign-ins for unknown users that are written to the audit log, per quarter of an hour. */
const maxNotedFailures = 100

/**
 * Limits how many failed sign-ins for unknown users are written to the audit log: anyone can cause them, from
 * any number of addresses, and they must not fill the store. The throttle limits those for known users.
 */
export class FailureQuota {
  #noted = 0
  #untilMs = 0

  /**
   * Counts one failure.
   *
   * @returns false if the last quarter of an hour had too many
   */
  take (nowMs = performance.now()): boolean {
    if (nowMs >= this.#untilMs) {
      this.#untilMs = nowMs + windowMs
      this.#noted = 0
    }
    return ++this.#noted <= maxNotedFailures
  }
}

function tooMany (waitMs: number): GatewayError {
  const minutes = Math.ceil(waitMs / 60_000)
  return new GatewayError('rate_limit_exceeded', {
    message: `Too many sign-in attempts. Try again in ${minutes} minute${minutes === 1 ? '' : 's'}.`,
    retryAfterSeconds: Math.ceil(waitMs / 1000)
  })
}

function entries (address: string, user: string): ReadonlyArray<readonly [kind: Kind, key: string]> {
  const network = networkOf(address)
  return [
    ['both', `${network} ${user}`],
    ['address', network],
    ...(user === '' ? [] : [['user', user] as const])
  ]
}

/** Returns an address; of an IPv6 address only the first half, since its owner has the whole range. */
export function networkOf (address: string): string {
  if (!isIPv6(address) || /^::ffff:/i.test(address)) return address
  const [before = '', after] = address.split('::')
  const [head, tail] = [before.split(':'), after?.split(':') ?? []]
  const full =
    after === undefined
      ? head
      : [
          ...head.filter(Boolean),
          ...Array<string>(8 - head.filter(Boolean).length - tail.filter(Boolean).length).fill('0'),
          ...tail.filter(Boolean)
        ]
  return full.slice(0, 4).join(':')
}
