/**
 * Keeps one-connection clients of undici, and finds a free one in constant time; undici's own pool searches
 * all of them for each request. The most recently used is taken first, so that connections opened for a burst
 * become idle and close.
 */

import type { Dispatcher } from 'undici'
import type { Connection, Connections, OutgoingRequest, RequestHandler } from './exchange.ts'

/** A dispatcher with one connection. */
export interface Client {
  readonly dispatcher: Dispatcher
  /** Closes the connection, or stops connecting. */
  readonly destroy: () => void
}

export interface ClientEvents {
  /** Called when the connection has closed. */
  readonly onDisconnect: () => void
  /**
   * Called when the server has ended the connection, before undici notices: undici fails an assertion if a
   * body is paused then.
   */
  readonly onEnd: () => void
}

export type CreateClient = (events: ClientEvents) => Client

export class Clients implements Connections {
  readonly #origin: string
  readonly #create: CreateClient
  readonly #free: PooledClient[] = []
  #busy = 0

  constructor (origin: string, create: CreateClient) {
    this.#origin = origin
    this.#create = create
  }

  get open (): number {
    return this.#busy + this.#free.length
  }

  acquire (): Connection {
    this.#busy++
    return this.#free.pop() ?? new PooledClient(this, this.#origin, this.#create)
  }

  close (): void {
    for (const client of this.#free.splice(0)) client.destroy()
  }

  /** Takes back the client of a finished request, and keeps it if it is still usable. */
  putBack (client: PooledClient, isUsable: boolean): void {
    this.#busy--
    if (isUsable) this.#free.push(client)
    else client.destroy()
  }

  /** Removes a free client whose connection has closed. */
  drop (client: PooledClient): void {
    const index = this.#free.lastIndexOf(client)
    if (index === -1) return
    this.#free.splice(index, 1)
    client.destroy()
  }
}

class PooledClient implements Connection {
  readonly #owner: Clients
  readonly #origin: string
  readonly #client: Client
  #handler: RequestHandler | undefined
  wasIdle = false
  readonly keepsUnsent = false

  constructor (owner: Clients, origin: string, create: CreateClient) {
    this.#owner = owner
    this.#origin = origin
    this.#client = create({
      onDisconnect: () => {
        this.wasIdle = false
        owner.drop(this)
      },
      onEnd: () => { this.#handler?.onConnectionEnd?.() }
    })
  }

  send (request: OutgoingRequest, handler: RequestHandler): void {
    this.#handler = handler
    // undici documents iterable bodies, but its types lack them
    const options = { origin: this.#origin, ...request } as Dispatcher.DispatchOptions
    const { dispatcher } = this.#client
    // undici writes to an idle connection after one `setImmediate`, which runs before the next poll if a
    // socket callback calls this. An unsolicited response waiting in the kernel would then be taken as the
    // answer. After two, it has been read.
    if (this.wasIdle) setImmediate(() => dispatcher.dispatch(options, handler))
    else dispatcher.dispatch(options, handler)
  }

  release (): void {
    this.wasIdle = true
    this.#handler = undefined
    this.#owner.putBack(this, true)
  }

  cancel (): void {
    this.#handler = undefined
    this.#owner.putBack(this, false)
  }

  destroy (): void {
    this.#client.destroy()
  }
}
