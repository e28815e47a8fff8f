/** Receives the messages that processes send each other through Redis, over a separate connection. */

import type { RedisClient } from './connect-redis.ts'

/**
 * @param message `undefined` if messages may have been lost: at the start, and after each loss of the
 *   connection
 */
export type MessageListener = (message: string | undefined) => void

export interface RedisMessagesOptions {
  /** The topic of the echoes of this process's own heartbeats. */
  readonly echoTopic: string
  /** Called when no messages arrive: with the first failed attempt to subscribe after a successful one. */
  readonly onFailure: (error: unknown) => void
}

/**
 * Heartbeats without an echo after which the connection counts as lost, or as one to a server that is no
 * longer the primary.
 */
const maxSilentBeats = 10

export class RedisMessages {
  readonly #client: RedisClient
  readonly #onFailure: RedisMessagesOptions['onFailure']
  readonly #listeners: Map<string, MessageListener>
  #silentBeats = 0
  #hasFailed = false
  #isClosed = false

  /** @param client waits for its connection, and reconnects after a loss */
  constructor (client: RedisClient, { echoTopic, onFailure }: RedisMessagesOptions) {
    this.#client = client
    this.#onFailure = onFailure
    this.#listeners = new Map([[echoTopic, () => { this.#silentBeats = 0 }]])
    client.on('error', (error: unknown) => this.#fail(error))
    client.on('ready', () => { void this.#subscribe() })
    // A cluster silently moves its connection for messages to another node when the node is lost.
    client.on('-node', () => this.#resume())
    client.on('message', (topic: string, message: string) => this.#listeners.get(topic)?.(message))
  }

  /** Calls back for each message of a topic, which has a single listener. */
  listen (topic: string, listener: MessageListener): void {
    this.#listeners.set(topic, listener)
    if (this.#client.status === 'ready') void this.#subscribe()
    else if (this.#client.status === 'wait') {
      this.#client.connect().catch((error: unknown) => this.#fail(error))
    }
  }

  /** Reconnects if the client has given up, or receives nothing. Called after each heartbeat. */
  check (): void {
    if (this.#isClosed) return // by the reply to an earlier heartbeat
    if (this.#client.status === 'end') this.#client.connect().catch((error: unknown) => this.#fail(error))
    if (this.#client.status !== 'ready' || ++this.#silentBeats <= maxSilentBeats) return
    this.#silentBeats = 0
    this.#fail(new Error('Redis sends no messages'))
    this.#client.disconnect(true)
  }

  close (): void {
    this.#isClosed = true
    this.#client.disconnect()
  }

  async #subscribe (): Promise<void> {
    try {
      await this.#client.subscribe(...this.#listeners.keys())
      this.#hasFailed = false
      this.#resume()
    } catch (error) {
      this.#fail(error) // and again with the next connection
    }
  }

  #resume (): void {
    for (const listener of this.#listeners.values()) listener(undefined)
  }

  #fail (error: unknown): void {
    if (!this.#hasFailed) this.#onFailure(error)
    this.#hasFailed = true
  }
}
