/**
 * Connects to the Redis that gateways on several machines share, and knows whether it is there.
 *
 * A sign of life each second says how many processes there are and what time it is in Redis. Redis counts as away from the
 * first command without a reply in time until a sign of life gets one: a Redis that stalls delays few calls.
 */

import { EventEmitter } from 'node:events'
import { processName } from '../async/process-name.ts'
import { steadyNow } from '../async/steady-clock.ts'
import type { Redis } from 'ioredis'
import type { Secret } from '../core/secret.ts'
import { scripts, type ScriptName } from './scripts.ts'

export interface RedisServerOptions {
  /** `redis://user:password@host:port/database`, or `rediss://` for TLS. */
  readonly url: Secret
  /** Longest wait for a reply. */
  readonly timeoutMs: number
  /** Milliseconds between two signs of life. Default 1000. */
  readonly beatMs?: number
}

interface Events {
  /** A command failed: limits are decided without Redis. */
  readonly away: [error: unknown]
  /** Redis replies again, or for the first time. */
  readonly back: []
}

type Argument = string | number
type Scripts = Readonly<Record<ScriptName, (...parameters: Argument[]) => Promise<unknown>>>

/** Signs of life that a process must have missed to count as gone. */
const missedBeats = 10

export class RedisServer extends EventEmitter<Events> {
  /** The name of this process among those that use the server. */
  readonly id = processName()
  readonly #redis: Redis & Scripts
  readonly #beatMs: number
  #subscriber: Redis | undefined
  #timer: NodeJS.Timeout | undefined
  #beating = false
  #isUp = false
  #processes = 1
  #aheadMs = 0

  private constructor (redis: Redis, beatMs: number) {
    super()
    this.#redis = redis as Redis & Scripts // defined by `scripts`
    this.#beatMs = beatMs
    // A connection that fails is seen by the commands that fail with it.
    redis.on('error', () => undefined)
  }

  /** Connects, unless Redis is away: then it goes on trying. */
  static async connect ({ url, timeoutMs, beatMs = 1000 }: RedisServerOptions): Promise<RedisServer> {
    const { Redis } = await import('ioredis')
    const server = new RedisServer(new Redis(url.reveal(), {
      scripts,
      lazyConnect: true,
      connectionName: 'headgate',
      connectTimeout: timeoutMs,
      commandTimeout: timeoutMs,
      // Calls are not kept waiting for a connection, and nothing is sent twice.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => beatMs / 4
    }), beatMs)
    await server.#redis.connect().catch(() => undefined) // seen by the first sign of life
    await server.#beat()
    server.#timer = setInterval(() => { void server.#beat() }, beatMs).unref()
    return server
  }

  get isUp (): boolean {
    return this.#isUp
  }

  /** Returns how many processes used Redis at the last sign of life, this one included. */
  get processes (): number {
    return this.#processes
  }

  /** Returns the time in Redis, in Unix milliseconds. */
  now (): number {
    return steadyNow() + this.#aheadMs
  }

  /**
   * Runs a script in one round trip; several at once do not wait for each other.
   *
   * @throws Error when there is no reply in time: the script may have run all the same
   */
  async run (script: Exclude<ScriptName, 'hgBeat'>, keys: readonly [string, string, string], parameters: readonly Argument[]): Promise<unknown> {
    try {
      return await this.#redis[script](...keys, ...parameters)
    } catch (error) {
      this.#lose(error)
      throw error
    }
  }

  /** Sends a message to all processes, this one included. Without Redis it is lost. */
  publish (topic: string, message: string): void {
    this.#redis.publish(topic, message).catch((error: unknown) => this.#lose(error))
  }

  /** Calls back for each message, and after each time when messages may have been lost. */
  subscribe (topic: string, listener: () => void): void {
    this.#subscriber = this.#redis.duplicate({ lazyConnect: false, enableOfflineQueue: true, commandTimeout: undefined, maxRetriesPerRequest: null })
    this.#subscriber.on('error', () => undefined) // it connects again, and subscribes
    this.#subscriber.on('ready', listener)
    this.#subscriber.on('message', listener)
    this.#subscriber.subscribe(topic).catch(() => undefined) // again with the next connection
  }

  async close (): Promise<void> {
    clearInterval(this.#timer)
    this.#subscriber?.disconnect()
    if (this.#isUp) await this.#redis.zrem(processesKey, this.id).catch(() => undefined) // it counts as gone in some seconds
    this.#redis.disconnect()
  }

  async #beat (): Promise<void> {
    if (this.#beating) return
    this.#beating = true
    try {
      const sentMs = steadyNow()
      const [nowMs, processes] = await this.#redis.hgBeat(processesKey, this.id, missedBeats * this.#beatMs) as [number, number] // see the script
      this.#aheadMs = nowMs - Math.round((sentMs + steadyNow()) / 2)
      this.#processes = processes
      if (!this.#isUp) {
        this.#isUp = true
        this.emit('back')
      }
    } catch (error) {
      this.#lose(error)
      // A connection that says nothing may be dead.
      if (this.#redis.status === 'ready') this.#redis.disconnect(true)
    } finally {
      this.#beating = false
    }
  }

  #lose (error: unknown): void {
    if (!this.#isUp) return
    this.#isUp = false
    this.emit('away', error)
  }
}

const processesKey = 'headgate:processes'
