/**
 * Throttles attempts to sign in: by address, by user, and by both together, so that a guesser is stopped soon and cannot
 * lock the user out from elsewhere. Counted in the process; what is remembered is bounded.
 */

import { isIPv6 } from 'node:net'
import { ExpiringMap } from '../async/expiring-map.ts'
import { GatewayError } from '../core/errors.ts'

const windowMs = 15 * 60_000
const maxRemembered = 10_000
const limits = { both: 5, address: 30, user: 100 } as const

interface Count { failures: number }

export class Throttle {
  readonly #counts = new ExpiringMap<Count>(maxRemembered)

  /**
   * Counts an attempt, before it is known how it ends: many at the same moment count as well.
   *
   * @param user what the caller says who it is; empty where they do not say
   * @throws GatewayError `rate_limit_exceeded` when there were too many failures in the last quarter of an hour
   */
  begin (address: string, user: string): void {
    for (const [key, limit] of entries(address, user)) {
      const count = this.#counts.get(key)
      if (count === undefined) this.#counts.set(key, { failures: 1 }, windowMs)
      else if (count.failures >= limit) throw tooMany()
      else count.failures++
    }
  }

  /** Takes back an attempt that succeeded, and forgets the failures of this user at this address: others may still guess. */
  succeeded (address: string, user: string): void {
    for (const [key] of entries(address, user)) {
      const count = this.#counts.get(key)
      if (count !== undefined) count.failures--
    }
    this.#counts.delete(`both ${networkOf(address)} ${user}`)
  }
}

function tooMany (): GatewayError {
  return new GatewayError('rate_limit_exceeded', { message: 'Too many attempts to sign in. Try again in 15 minutes.', retryAfterSeconds: 60 })
}

function entries (address: string, user: string): ReadonlyArray<readonly [key: string, limit: number]> {
  const network = networkOf(address)
  return [
    [`both ${network} ${user}`, limits.both],
    [`address ${network}`, limits.address],
    ...user === '' ? [] : [[`user ${user}`, limits.user] as const]
  ]
}

/** Returns an address; of IPv6 the first half, since a caller with one has all of them. */
function networkOf (address: string): string {
  if (!isIPv6(address) || /^::ffff:/i.test(address)) return address
  const [before = '', after] = address.split('::')
  const [head, tail] = [before.split(':'), after?.split(':') ?? []]
  const full = after === undefined ? head : [...head.filter(Boolean), ...Array<string>(8 - head.filter(Boolean).length - tail.filter(Boolean).length).fill('0'), ...tail.filter(Boolean)]
  return full.slice(0, 4).join(':')
}
