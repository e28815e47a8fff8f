/**
 * A limiter for comparison that the gateway does not have: nodes take slices of a limit from Redis, and ask
 * for another when one is used up.
 */

import type { Redis } from 'ioredis'

/** Takes a slice of the remainder of the limit. */
const take = `
  local left = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
  local taken = math.min(left, tonumber(ARGV[2]))
  redis.call('SET', KEYS[1], left - taken, 'PX', 60000)
  return taken
`

export class SlicedLimiter {
  readonly #redis: Redis
  readonly #slices = new Map<string, Slice>()

  private constructor (redis: Redis) {
    this.#redis = redis
  }

  static async connect (url: string): Promise<SlicedLimiter> {
    const { Redis } = await import('ioredis')
    return new SlicedLimiter(new Redis(url))
  }

  /**
   * Takes one request of a limit that does not refill.
   * @returns false if nothing is left
   */
  async reserve (keyId: string, limit: number, size: number): Promise<boolean> {
    let slice = this.#slices.get(keyId)
    if (slice === undefined) this.#slices.set(keyId, slice = { left: 0, isLast: false })
    while (slice.left === 0) {
      if (slice.isLast) return false
      await (slice.taking ??= this.#take(slice, keyId, limit, size))
    }
    slice.left--
    return true
  }

  /** Returns what this node has taken and not used. */
  unused (keyId: string): number {
    return this.#slices.get(keyId)?.left ?? 0
  }

  async #take (slice: Slice, keyId: string, limit: number, size: number): Promise<void> {
    slice.left = Number(await this.#redis.eval(take, 1, `slices:${keyId}`, limit, size))
    slice.isLast = slice.left === 0
    slice.taking = undefined
  }
}

interface Slice {
  left: number
  /** True once Redis had nothing left. */
  isLast: boolean
  taking?: Promise<void> | undefined
}
