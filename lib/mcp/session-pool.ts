/**
 * Sessions with tool servers, one per server and credential, shared by the calls that may share
 * it. A session nobody uses is closed after a while; beyond the cap, the one idle for longest.
 */

import { setMaxListeners } from 'node:events'
import { abortable } from '../async/abortable.ts'
import { sessionBroken, sessionExpired } from './failure.ts'
import type { Connect } from './connect.ts'
import type { Session } from './session.ts'
import type { ToolServerTarget } from './tool-server-target.ts'

export interface SessionPoolOptions {
  readonly connect: Connect
  readonly idleMs: number
  /** Sessions kept; calls beyond it get one of their own that is closed after use. */
  readonly capacity: number
}

interface Entry {
  readonly opening: Promise<Session>
  session?: Session
  users: number
  /** False once the pool has let go of it: then the last user closes it. */
  pooled: boolean
  timer?: NodeJS.Timeout
}

export class SessionPool {
  readonly #options: SessionPoolOptions
  /** In order of last use. */
  readonly #entries = new Map<string, Entry>()
  readonly #leaving = new Set<Promise<void>>()
  readonly #over = new AbortController()

  constructor (options: SessionPoolOptions) {
    this.#options = options
    setMaxListeners(0, this.#over.signal) // one for each session that is being opened
  }

  /** Sessions that are open or being opened. */
  get size (): number {
    return this.#entries.size
  }

  /**
   * Runs `work` with a session of the target. When the server has forgotten a session that was
   * opened earlier, it did nothing: `work` runs once more, with a new one.
   *
   * @throws what connecting or `work` throws, or the signal's reason
   */
  async use<T> (target: ToolServerTarget, signal: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> {
    const entry = this.#enter(target)
    const wasOpen = entry.session !== undefined
    try {
      return await this.#run(target, entry, signal, work)
    } catch (error) {
      if (signal.aborted || !wasOpen || !sessionExpired(error)) throw error
    }
    return await this.#run(target, this.#enter(target), signal, work)
  }

  /** Closes every session; those in use as well. Resolves when the last is closed. */
  async close (): Promise<void> {
    this.#over.abort(new Error('the pool is closed'))
    for (const [key, entry] of this.#entries) this.#drop(key, entry)
    await Promise.all(this.#leaving)
  }

  async #run<T> (
    target: ToolServerTarget, entry: Entry, signal: AbortSignal, work: (session: Session) => Promise<T>
  ): Promise<T> {
    try {
      const session = await abortable(entry.opening, signal)
      return await abortable(work(session), signal)
    } catch (error) {
      // A tool's own error and an impatient caller leave the session whole.
      const broken = entry.session === undefined ? !signal.aborted : entry.session.closed || sessionBroken(error)
      if (broken) this.#drop(target.sessionKey, entry)
      throw error
    } finally {
      this.#leave(target.sessionKey, entry)
    }
  }

  /** Counts one more user in; opens the session if there is none. */
  #enter (target: ToolServerTarget): Entry {
    const key = target.sessionKey
    let entry = this.#entries.get(key)
    if (entry?.session?.closed === true) {
      this.#drop(key, entry)
      entry = undefined
    }
    entry ??= this.#open(target)
    entry.users++
    clearTimeout(entry.timer)
    if (entry.pooled) {
      this.#entries.delete(key)
      this.#entries.set(key, entry)
    }
    return entry
  }

  #open (target: ToolServerTarget): Entry {
    const pooled = !this.#over.signal.aborted && this.#makeRoom()
    const entry: Entry = { opening: this.#options.connect(target, this.#over.signal), users: 0, pooled }
    entry.opening.then(session => { entry.session = session }, () => {
      // Whoever waits for it is told; here it only must not count as unhandled.
      this.#drop(target.sessionKey, entry)
    })
    return entry
  }

  #makeRoom (): boolean {
    if (this.#entries.size < this.#options.capacity) return true
    for (const [key, entry] of this.#entries) {
      if (entry.users > 0) continue
      this.#drop(key, entry)
      return true
    }
    return false
  }

  #leave (key: string, entry: Entry): void {
    entry.users--
    if (entry.users > 0) return
    if (entry.pooled) {
      entry.timer = setTimeout(() => this.#drop(key, entry), this.#options.idleMs)
      entry.timer.unref()
    } else {
      this.#end(entry)
    }
  }

  /** Takes a session out of the pool, and closes it unless somebody still uses it. */
  #drop (key: string, entry: Entry): void {
    entry.pooled = false
    clearTimeout(entry.timer)
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
    if (entry.users === 0 || this.#over.signal.aborted) this.#end(entry)
  }

  #end (entry: Entry): void {
    const leaving = entry.opening.then(async session => await session.close(), () => undefined)
    this.#leaving.add(leaving)
    void leaving.finally(() => this.#leaving.delete(leaving))
  }
}
