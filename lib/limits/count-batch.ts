/**
 * Collects what one turn of the event loop has to reserve and to settle, and sends it to Redis as one script: under load many calls
 * share a command, and a call by itself waits for nothing but the end of the turn.
 */

import type { RedisServer } from '../coordination/redis-server.ts'

/** The values of a reservation or a settlement, or the name of a process that has exited, as `coordination/scripts` names them. */
export type CountOperation = readonly [kind: 'reserve' | 'settle' | 'forget', id: string, ...values: ReadonlyArray<number | boolean>]

/** The keys of Redis for one key of the gateway. */
export type CountKeys = readonly [rates: string, open: string, budget: string, leases: string]

interface Waiting {
  readonly operation: CountOperation
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

interface List {
  readonly keys: CountKeys
  readonly waiting: Waiting[]
}

/** No script keeps Redis from others for more than some milliseconds. */
const maxOperations = 200

export class CountBatch {
  readonly #server: Pick<RedisServer, 'run' | 'isCluster'>
  readonly #leases: readonly [leaseMs: number, lostAfterMs: number]
  #lists = new Map<string, List>()
  #size = 0

  constructor (server: Pick<RedisServer, 'run' | 'isCluster'>, ...leases: readonly [leaseMs: number, lostAfterMs: number]) {
    this.#server = server
    this.#leases = leases
  }

  /** Returns the reply to an operation, of which those of one key are done in their order. @throws Error without a reply */
  async add (keys: CountKeys, operation: CountOperation): Promise<unknown> {
    return await new Promise((resolve, reject) => {
      const [, , name] = keys // of a key and a period
      let list = this.#lists.get(name)
      if (list === undefined) this.#lists.set(name, list = { keys, waiting: [] })
      list.waiting.push({ operation, resolve, reject })
      if (++this.#size === 1) setImmediate(this.#send)
      else if (this.#size === maxOperations) this.#send()
    })
  }

  readonly #send = (): void => {
    const lists = [...this.#lists.values()]
    this.#lists = new Map()
    this.#size = 0
    // Different keys of the gateway may be in different places of a cluster.
    const scripts = this.#server.isCluster ? lists.map(list => [list]) : [lists]
    for (const script of scripts) if (script.length > 0) void this.#run(script)
  }

  async #run (lists: readonly List[]): Promise<void> {
    try {
      const operations = lists.map(({ waiting }) => waiting.map(({ operation }) => operation))
      const replies = await this.#server.run('hgCount', lists.flatMap(({ keys }) => keys), [...this.#leases, JSON.stringify(operations)]) as unknown[][] // one each
      for (const [index, { waiting }] of lists.entries()) waiting.forEach(({ resolve }, place) => resolve(replies[index]?.[place]))
    } catch (error) {
      for (const { waiting } of lists) for (const { reject } of waiting) reject(error)
    }
  }
}
