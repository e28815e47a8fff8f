/** Receives the messages that processes send each other through Redis, over a connection of its own. */

import type { RedisClient } from './connect-redis.ts'

/** @param message `undefined` when messages may have been lost: after each loss of the connection, and first of all */
export type MessageListener = (message: string | undefined) => void

export interface RedisMessagesOptions {
  /** Called when the topics cannot be subscribed to: with the first attempt that fails after one that succeeded. */
  readonly onFailure: (error: unknown) => void
}

export class RedisMessages {
  readonly #client: RedisClient
  readonly #onFailure: RedisMessagesOptions['onFailure']
  readonly #listeners = new Map<string, MessageListener>()
  #failed = false

  /** @param client one that waits for its connection, and connects again when it is lost */
  constructor (client: RedisClient, { onFailure }: RedisMessagesOptions) {
    this.#client = client
    this.#onFailure = onFailure
    client.on('error', (error: unknown) => this.#fail(error))
    client.on('ready', () => { void this.#subscribe() })
    // A cluster's connection for messages moves to another node without a word when its own is gone.
    client.on('-node', () => this.#resume())
    client.on('message', (topic: string, message: string) => this.#listeners.get(topic)?.(message))
  }

  /** Calls back for each message of a topic, of which there is one listener. */
  listen (topic: string, listener: MessageListener): void {
    this.#listeners.set(topic, listener)
    if (this.#client.status === 'ready') void this.#subscribe()
    else if (this.#client.status === 'wait') this.#client.connect().catch((error: unknown) => this.#fail(error))
  }

  /** Connects again where the client has given up. */
  reconnect (): void {
    if (this.#client.status === 'end') this.#client.connect().catch((error: unknown) => this.#fail(error))
  }

  close (): void {
    this.#client.disconnect()
  }

  async #subscribe (): Promise<void> {
    try {
      await this.#client.subscribe(...this.#listeners.keys())
      this.#failed = false
      this.#resume()
    } catch (error) {
      this.#fail(error) // and with the next connection again
    }
  }

  #resume (): void {
    for (const listener of this.#listeners.values()) listener(undefined)
  }

  #fail (error: unknown): void {
    if (!this.#failed) this.#onFailure(error)
    this.#failed = true
  }
}
