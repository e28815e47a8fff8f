/**
 * Connects to the Redis that gateways on several machines share, and monitors it.
 *
 * A heartbeat each second returns the number of processes and the time in Redis. Redis counts as unreachable
 * from the first command without a timely reply until a heartbeat gets one, so a stalled Redis delays few
 * calls.
 */

import { Histogram, roundTripBounds, type HistogramValue } from '../core/histogram.ts'
import { EventEmitter } from 'node:events'
import { lostAfterMs, processName } from '../async/process-name.ts'
import { steadyNow } from '../async/steady-clock.ts'
import { withTimeout } from '../async/with-timeout.ts'
import {
  createRedisClient,
  nodesOf,
  type RedisClient,
  type RedisLocation,
  type ScriptArgument
} from './connect-redis.ts'
import { RedisMessages, type MessageListener } from './redis-messages.ts'
import type { ScriptName } from './scripts.ts'

export interface RedisServerOptions extends RedisLocation {
  /** Maximum wait for a reply. */
  readonly timeoutMs: number
  /** Milliseconds between two heartbeats. Default 1000. */
  readonly beatMs?: number
  /** The unique name of this process. Default: a new one. */
  readonly id?: string
  /**
   * Returns true for a process that has exited and whose usage rows are stored. Default: false for every
   * process.
   */
  readonly isGone?: (processName: string) => boolean
}

interface OwnOptions extends Required<Pick<RedisServerOptions, 'id' | 'timeoutMs' | 'beatMs' | 'isGone'>> {
  readonly isCluster: boolean
}

interface Events {
  /** A command failed: limits are decided without Redis. */
  readonly unreachable: [error: unknown]
  /** Redis replies again, or for the first time. */
  readonly reachable: []
  /** These processes have exited, and their usage rows are stored. */
  readonly exited: [processNames: readonly string[]]
  /** No messages arrive until their connection is restored. */
  readonly subscriptionLost: [error: unknown]
}

/** Heartbeats that a process must miss to count as gone. */
const missedBeats = 10
export class RedisServer extends EventEmitter<Events> {
  /** The name of this process among those that use the server. */
  readonly id: string
  /** True if all keys of one script must be on the same node. */
  readonly isCluster: boolean
  readonly #echoTopic: string
  readonly #redis: RedisClient
  readonly #messages: RedisMessages
  readonly #timeoutMs: number
  readonly #times = new Histogram(roundTripBounds)
  readonly #beatMs: number
  /** Messages that Redis may lack, by topic. */
  readonly #unsent = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #isBeating = false
  #isUp = false
  readonly #isGone: (processName: string) => boolean
  /** Exited processes, as last reported by `gone`. */
  #exited: ReadonlySet<string> = new Set()
  #processes = 1
  #aheadMs = 0
  /** Why there is no connection. */
  #unconnected: unknown

  private constructor (redis: RedisClient, subscriber: RedisClient, options: OwnOptions) {
    const { id, timeoutMs, beatMs, isCluster, isGone } = options
    super()
    this.id = id
    this.#echoTopic = `headgate:echo:${id}`
    this.#isGone = isGone
    this.isCluster = isCluster
    this.#redis = redis
    this.#timeoutMs = timeoutMs
    this.#beatMs = beatMs
    this.#messages = new RedisMessages(subscriber, {
      echoTopic: this.#echoTopic,
      onFailure: error => this.emit('subscriptionLost', error)
    })
    // A command that fails reports less detail than this event.
    redis.on('error', (error: unknown) => { this.#unconnected = error })
    redis.on('ready', () => { this.#unconnected = undefined })
  }

  /**
   * Connects, unless Redis is unreachable: then it keeps trying.
   *
   * @throws the error of the file system if the file of its certificate authority cannot be read
   */
  static async connect ({
    timeoutMs,
    beatMs = 1000,
    id = processName(),
    isGone = () => false,
    ...place
  }: RedisServerOptions): Promise<RedisServer> {
    const options = { timeoutMs, retryMs: beatMs / 4 }
    const [redis, subscriber] = await Promise.all([
      createRedisClient(place, options),
      createRedisClient(place, { ...options, subscribes: true })
    ])
    const server = new RedisServer(redis, subscriber, {
      id,
      timeoutMs,
      beatMs,
      isCluster: place.isCluster === true,
      isGone
    })
    await server.#connect()
    await server.#beat()
    server.#timer = setInterval(() => { void server.#beat() }, beatMs).unref()
    return server
  }

  get isUp (): boolean {
    return this.#isUp
  }

  /** Returns the reason why there is no connection. */
  get failure (): unknown {
    return this.#unconnected
  }

  /** Returns the seconds that commands took, including those without a reply. */
  get times (): HistogramValue {
    return this.#times.value
  }

  /** Returns how many processes used Redis at the last heartbeat, including this one. */
  get processes (): number {
    return this.#processes
  }

  /** Returns the time in Redis, in Unix milliseconds. */
  now (): number {
    return steadyNow() + this.#aheadMs
  }

  /**
   * Runs a script in one round trip; several do not wait for each other.
   *
   * @throws Error if there is no reply in time: the script may have run nevertheless
   */
  async run (
    script: Exclude<ScriptName, 'hgBeat' | 'hgExited'>,
    keys: readonly string[],
    parameters: readonly ScriptArgument[]
  ): Promise<unknown> {
    try {
      return await this.#timed(this.#redis[script](keys.length, ...keys, ...parameters))
    } catch (error) {
      this.#lose(error)
      throw error
    }
  }

  /**
   * Returns the members of a sorted set whose score is at least `min`, with their scores.
   *
   * @throws Error if there is no reply in time
   */
  async scored (key: string, min: number): Promise<Array<readonly [member: string, score: number]>> {
    try {
      const replies = await this.#timed(this.#redis.zrangebyscore(key, min, '+inf', 'WITHSCORES'))
      return replies.flatMap((member, index) =>
        index % 2 === 0 ? [[member, Number(replies[index + 1])] as const] : []
      )
    } catch (error) {
      this.#lose(error)
      throw error
    }
  }

  /**
   * Returns the text of a key. A failure does not mean that the counters fail: a text may be too large, or
   * memory exhausted.
   *
   * @throws Error if Redis refuses, or does not reply in time
   */
  async get (key: string): Promise<string | undefined> {
    return (await this.#timed(this.#redis.get(key))) ?? undefined
  }

  /**
   * Stores a text for some milliseconds.
   *
   * @throws as `get` does
   */
  async set (key: string, text: string, ttlMs: number): Promise<void> {
    await this.#timed(this.#redis.set(key, text, 'PX', ttlMs))
  }

  /**
   * Deletes the keys with a prefix.
   *
   * @returns how many
   * @throws Error if there is no reply in time
   */
  async deleteAll (prefix: string): Promise<number> {
    let count = 0
    for (const node of nodesOf(this.#redis)) {
      for await (const keys of node.scanStream({ match: `${prefix}*`, count: 1000 })) {
        // One by one: keys of one node of a cluster may be in several slots. Redis lists texts.
        const deleted = await Promise.all((keys as string[]).map(key => node.unlink(key)))
        count += deleted.reduce((sum, one) => sum + one, 0)
      }
    }
    return count
  }

  /**
   * Sends a message to all processes, including this one. The last message of a topic is sent again when
   * Redis is back, and may then arrive twice.
   */
  publish (topic: string, message: string): void {
    this.#redis.publish(topic, message).catch((error: unknown) => {
      this.#unsent.set(topic, message)
      this.#lose(error)
    })
  }

  /** Calls back for each message of a topic, and whenever messages may have been lost. */
  subscribe (topic: string, listener: MessageListener): void {
    this.#messages.listen(topic, listener)
  }

  async close (): Promise<void> {
    clearInterval(this.#timer)
    this.#messages.close()
    try {
      if (this.#isUp) await this.#redis.zrem(processesKey, this.id)
    } catch (error) {
      this.#lose(error) // other processes forget this one ten seconds later
    }
    this.#redis.disconnect()
  }

  async #timed<T> (reply: Promise<T>): Promise<T> {
    const startedAtMs = performance.now()
    try {
      return await reply
    } finally {
      this.#times.observe((performance.now() - startedAtMs) / 1000)
    }
  }

  /**
   * Starts connecting, and waits no longer than for a reply: with unavailable Sentinels, or a cluster that is
   * not ready, connecting may take forever.
   */
  async #connect (): Promise<void> {
    await withTimeout(
      this.#timeoutMs,
      this.#redis.connect().catch((error: unknown) => {
        this.#unconnected ??= error
      })
    )
  }

  async #beat (): Promise<void> {
    if (this.#isBeating) return
    this.#isBeating = true
    try {
      // A client gives up when Sentinels change the primary while it connects.
      if (this.#redis.status === 'end') await this.#connect()
      const sentMs = steadyNow()
      // see the script
      const [nowMs, processes, names] = (await this.#redis.hgBeat(
        1,
        processesKey,
        this.id,
        missedBeats * this.#beatMs,
        lostAfterMs,
        this.#echoTopic
      )) as [number, number, string[]]
      await this.#shareExits(names)
      this.#messages.check()
      this.#aheadMs = nowMs - Math.round((sentMs + steadyNow()) / 2)
      this.#processes = processes
      if (!this.#isUp) {
        this.#isUp = true
        this.emit('reachable')
        this.#resend()
      }
    } catch (error) {
      this.#lose(error)
      // A silent connection may be dead.
      if (this.#redis.status === 'ready') this.#redis.disconnect(true)
    } finally {
      this.#isBeating = false
    }
  }

  /** Reports which processes of this machine have exited, and reads which of other machines have. */
  async #shareExits (names: readonly string[]): Promise<void> {
    for (const name of names.filter(name => name !== this.id && this.#isGone(name))) {
      await this.#redis.hgExited(1, exitedKey, name, lostAfterMs)
      await this.#redis.zrem(processesKey, name)
    }
    const exited = (await this.scored(exitedKey, 0)).map(([name]) => name)
    if (exited.length === this.#exited.size && exited.every(name => this.#exited.has(name))) return
    this.#exited = new Set(exited)
    this.emit('exited', exited)
  }

  #resend (): void {
    const unsent = [...this.#unsent]
    this.#unsent.clear()
    for (const [topic, message] of unsent) this.publish(topic, message)
  }

  #lose (error: unknown): void {
    if (!this.#isUp) return
    this.#isUp = false
    this.emit('unreachable', this.#unconnected ?? error)
  }
}

const processesKey = 'headgate:processes'
const exitedKey = 'headgate:exited'
