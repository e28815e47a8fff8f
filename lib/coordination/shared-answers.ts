import type { RedisServer } from './redis-server.ts'

type Server = Pick<RedisServer, 'isUp' | 'get' | 'set' | 'deleteAll'>

const prefix = 'headgate:answer:'

/**
 * Cached answers in Redis. Without Redis there are none: every call is answered anew, and `RedisServer` says
 * that it is away.
 */
export class SharedAnswers {
  readonly #server: Server

  constructor (server: Server) {
    this.#server = server
  }

  async get (name: string): Promise<string | undefined> {
    if (!this.#server.isUp) return undefined
    try {
      return await this.#server.get(prefix + name)
    } catch {
      return undefined // the server emits that it is away
    }
  }

  set (name: string, text: string, ttlMs: number): void {
    if (!this.#server.isUp) return
    this.#server.set(prefix + name, text, Math.max(1, Math.round(ttlMs))).catch(() => undefined) // as above
  }

  /** Deletes all of them. @returns how many @throws Error when Redis does not reply */
  async clear (): Promise<number> {
    return await this.#server.deleteAll(prefix)
  }
}
