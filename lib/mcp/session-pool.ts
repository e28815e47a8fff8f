/**
 * Keeps sessions with tool servers, one per server and credential, shared by calls with equal session keys.
 * Sessions close after some idle time, or least recently used first if the pool is full.
 */

import { setMaxListeners } from 'node:events'
import { abortable } from '../async/cancellation.ts'
import { ToolServerFailure } from './failure.ts'
import { sessionBroken, sessionExpired } from './session-errors.ts'
import type { Connect } from './connect.ts'
import type { Session } from './session.ts'
import type { ToolServerTarget } from './tool-server-target.ts'

export interface SessionPoolOptions {
  readonly connect: Connect
  readonly idleMs: number
  /** Maximum pooled sessions; beyond that, a call gets a separate session, which is closed after use. */
  readonly capacity: number
  /** Maximum sessions per gateway key, including those beyond the capacity. */
  readonly maxPerKey: number
  /** Maximum bytes of tool lists kept by idle sessions; beyond that, the longest idle are closed. */
  readonly maxListBytes: number
}

interface Entry {
  readonly keyId: string | undefined
  readonly opening: Promise<Session>
  session?: Session
  users: number
  /** False once removed from the pool: the last user then closes it. */
  isPooled: boolean
  hasEnded: boolean
  timer?: NodeJS.Timeout
}

function hasList ({ session }: Entry): boolean {
  return session !== undefined && session.listBytes > 0
}

export class SessionPool {
  readonly #options: SessionPoolOptions
  /** Ordered by last use. */
  readonly #entries = new Map<string, Entry>()
  /** Number of open sessions by gateway key. */
  readonly #perKey = new Map<string, number>()
  readonly #closing = new Set<Promise<void>>()
  readonly #closed = new AbortController()

  constructor (options: SessionPoolOptions) {
    this.#options = options
    setMaxListeners(0, this.#closed.signal) // one listener for each opening session
  }

  /**
   * Runs `work` with a session of the target. If the server no longer knows an existing session, the request
   * had no effect: `work` then runs again with a new session.
   *
   * @throws what connecting or `work` throws, the signal's reason, or ToolServerFailure if the target's key
   *   has too many sessions
   */
  async use<T> (
    target: ToolServerTarget,
    signal: AbortSignal,
    work: (session: Session) => Promise<T>
  ): Promise<T> {
    const entry = this.#acquire(target)
    const wasOpen = entry.session !== undefined
    try {
      return await this.#run(target, entry, signal, work)
    } catch (error) {
      if (signal.aborted || !wasOpen || !sessionExpired(error)) throw error
    }
    return await this.#run(target, this.#acquire(target), signal, work)
  }

  /** Closes every session, including those in use. Resolves after the last one. */
  async close (): Promise<void> {
    this.#closed.abort(new Error('the pool is closed'))
    for (const [key, entry] of this.#entries) this.#drop(key, entry)
    await Promise.all(this.#closing)
  }

  async #run<T> (
    target: ToolServerTarget, entry: Entry, signal: AbortSignal, work: (session: Session) => Promise<T>
  ): Promise<T> {
    try {
      const session = await abortable(entry.opening, signal)
      return await abortable(work(session), signal)
    } catch (error) {
      // A tool's own error or a caller's timeout does not break the session.
      const broken =
        entry.session === undefined ? !signal.aborted : entry.session.closed || sessionBroken(error)
      if (broken) this.#drop(target.sessionKey, entry)
      throw error
    } finally {
      this.#release(target.sessionKey, entry)
    }
  }

  /** Adds a user to the session; opens it if needed. */
  #acquire (target: ToolServerTarget): Entry {
    const key = target.sessionKey
    let entry = this.#entries.get(key)
    if (entry?.session?.closed === true) {
      this.#drop(key, entry)
      entry = undefined
    }
    entry ??= this.#open(target)
    entry.users++
    clearTimeout(entry.timer)
    if (entry.isPooled) {
      this.#entries.delete(key)
      this.#entries.set(key, entry)
    }
    return entry
  }

  #open (target: ToolServerTarget): Entry {
    const { keyId } = target
    if (keyId !== undefined) this.#addSession(keyId)
    const isPooled = !this.#closed.signal.aborted && this.#makeRoom()
    const entry: Entry = {
      keyId,
      opening: this.#options.connect(target, this.#closed.signal),
      users: 0,
      isPooled,
      hasEnded: false
    }
    entry.opening.then(
      session => {
        entry.session = session
      },
      () => {
        // Waiting callers receive the error; here it must not be unhandled.
        this.#drop(target.sessionKey, entry)
      }
    )
    return entry
  }

  #makeRoom (): boolean {
    return this.#entries.size < this.#options.capacity || this.#dropIdle(() => true)
  }

  /** Excludes lists in use: they cannot be dropped, and would displace other sessions. */
  #idleListBytes (): number {
    let bytes = 0
    for (const { users, session } of this.#entries.values()) {
      if (users === 0) bytes += session?.listBytes ?? 0
    }
    return bytes
  }

  /** Counts a session of the key; at the maximum, closes idle ones of the key first. */
  #addSession (keyId: string): void {
    const { maxPerKey } = this.#options
    if (this.#countOf(keyId) >= maxPerKey && !this.#dropIdle(entry => entry.keyId === keyId)) {
      throw new ToolServerFailure(
        'connect',
        `This API key has ${maxPerKey} open tool sessions, the maximum.`,
        {
          recommendation: 'Try again after other calls have ended.'
        }
      )
    }
    this.#perKey.set(keyId, this.#countOf(keyId) + 1)
  }

  #countOf (keyId: string): number {
    return this.#perKey.get(keyId) ?? 0
  }

  /** Closes the matching session that was idle longest; returns false if there is none. */
  #dropIdle (matches: (entry: Entry) => boolean): boolean {
    for (const [key, entry] of this.#entries) {
      if (entry.users > 0 || !matches(entry)) continue
      this.#drop(key, entry)
      return true
    }
    return false
  }

  #release (key: string, entry: Entry): void {
    entry.users--
    if (entry.users > 0) return
    if (entry.isPooled) {
      entry.timer = setTimeout(() => this.#drop(key, entry), this.#options.idleMs)
      entry.timer.unref()
      while (this.#idleListBytes() > this.#options.maxListBytes && this.#dropIdle(hasList)) { /* the next */ }
    } else {
      this.#end(entry)
    }
  }

  /** Removes a session from the pool, and closes it unless it is in use. */
  #drop (key: string, entry: Entry): void {
    entry.isPooled = false
    clearTimeout(entry.timer)
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
    if (entry.users === 0 || this.#closed.signal.aborted) this.#end(entry)
  }

  #end (entry: Entry): void {
    if (entry.hasEnded) return
    entry.hasEnded = true
    this.#removeSession(entry)
    const closing = entry.opening.then(async session => await session.close(), () => undefined)
    this.#closing.add(closing)
    void closing.finally(() => this.#closing.delete(closing))
  }

  #removeSession ({ keyId }: Entry): void {
    if (keyId === undefined) return
    const left = this.#countOf(keyId) - 1
    if (left > 0) this.#perKey.set(keyId, left)
    else this.#perKey.delete(keyId)
  }
}
