/**
 * Collects the reservations and settlements of one tick and sends them to Redis as one script call. Under
 * load many calls share a command; a single call waits only for the end of the tick.
 */

import type { RedisServer } from '../coordination/redis-server.ts'
import type { ReservationPurpose } from './reservation.ts'

/**
 * An operation of the script on one reservation of a party, or on all of a process: see
 * `coordination/scripts`.
 */
export interface CountOperation {
  readonly kind: 'reserve' | 'settle' | 'renew' | 'record' | 'forget'
  /** The id of the reservation, or the name of the process. */
  readonly id: string
  readonly accounts: readonly CountedAccount[]
  /** What is reserved or renewed for. */
  readonly purpose?: ReservationPurpose
  /** True if Redis counts the call as open. */
  readonly leased?: boolean
}

/** An account of the party, with the fields that the operation needs. */
export type CountedAccount =
  | { readonly counting: 'rate', readonly unit: string, readonly amount: number, readonly takes: number }
  | { readonly counting: 'open', readonly amount: number }
  | ({ readonly counting: 'sum', readonly key: string } & (
      | {
          readonly unit: string
          readonly amount: number
          readonly strict: boolean
          readonly max: number
          readonly min: number
          readonly recorded: number
          readonly keep_ms: number
        }
      | { readonly amount: number, readonly keep_ms: number }
      | { readonly used: number }
      /** What calls used, by the ids of their usage rows. */
      | { readonly recorded: Readonly<Record<string, number>> }
    ))

interface Waiting {
  readonly operation: CountOperation
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The operations of one party. */
interface List {
  readonly party: string
  /** The names of its sums, in the order of their keys. */
  readonly sums: string[]
  readonly waiting: Waiting[]
}

/** Keeps a script from blocking Redis for more than a few milliseconds. */
const maxOperations = 200

/** Runs operations in batches, at the end of the tick or when a batch is full. */
export class CountBatch {
  readonly #server: Pick<RedisServer, 'run' | 'isCluster'>
  readonly #leases: readonly [leaseMs: number, lostAfterMs: number]
  #lists = new Map<string, List>()
  #size = 0

  constructor (
    server: Pick<RedisServer, 'run' | 'isCluster'>,
    ...leases: readonly [leaseMs: number, lostAfterMs: number]
  ) {
    this.#server = server
    this.#leases = leases
  }

  /**
   * Returns the reply to an operation. Operations of one party run in order. @throws Error without a reply
   */
  async add (party: string, operation: CountOperation): Promise<unknown> {
    return await new Promise((resolve, reject) => {
      let list = this.#lists.get(party)
      if (list === undefined) this.#lists.set(party, list = { party, sums: [], waiting: [] })
      for (const account of operation.accounts) {
        if (account.counting === 'sum' && !list.sums.includes(account.key)) list.sums.push(account.key)
      }
      list.waiting.push({ operation, resolve, reject })
      if (++this.#size === 1) setImmediate(this.#send)
      else if (this.#size === maxOperations) this.#send()
    })
  }

  readonly #send = (): void => {
    const lists = [...this.#lists.values()]
    this.#lists = new Map()
    this.#size = 0
    // Different parties may be on different nodes of a cluster.
    const scripts = this.#server.isCluster ? lists.map(list => [list]) : [lists]
    for (const script of scripts) if (script.length > 0) void this.#run(script)
  }

  async #run (lists: readonly List[]): Promise<void> {
    try {
      const keys = lists.map(keysOf)
      const given = lists.map((list, index) => ({
        keys: keys[index]?.length,
        operations: list.waiting.map(({ operation }) => withPlaces(operation, list))
      }))
      const reply = await this.#server.run('hgCount', keys.flat(), [...this.#leases, JSON.stringify(given)])
      const replies = JSON.parse(String(reply)) as unknown[][] // one reply per operation, per list
      for (const [index, { waiting }] of lists.entries()) {
        waiting.forEach(({ resolve }, position) => resolve(replies[index]?.[position]))
      }
    } catch (error) {
      for (const { waiting } of lists) for (const { reject } of waiting) reject(error)
    }
  }
}

/** Returns the Redis keys of a party. The braces put them in one hash slot of a cluster. */
function keysOf ({ party, sums }: List): string[] {
  const name = `headgate:{${party}}`
  return [
    `${name}:rates`,
    `${name}:open`,
    ...sums.flatMap(sum => [`${name}:${sum}`, `${name}:${leasesOf(sum)}`])
  ]
}

/** Names the leases of a sum; for money the name is that of earlier versions. */
function leasesOf (sum: string): string {
  return sum.startsWith('budget:') ? sum.replace('budget:', 'leases:') : `leases:${sum}`
}

/** Replaces sum names with the index of their key. */
function withPlaces (operation: CountOperation, { sums }: List): object {
  return {
    ...operation,
    accounts: operation.accounts.map(account =>
      account.counting === 'sum' ? { ...account, place: 3 + 2 * sums.indexOf(account.key) } : account
    )
  }
}
