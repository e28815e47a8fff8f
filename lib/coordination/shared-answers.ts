import type { RedisServer } from './redis-server.ts'

type Server = Pick<RedisServer, 'isUp' | 'get' | 'set' | 'deleteAll'>

const prefix = 'headgate:answer:'

/**
 * Cached answers in Redis. If Redis is unreachable or refuses a command, the call goes to a provider; other
 * users of Redis report the outage.
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
      return undefined // as if there were none
    }
  }

  set (name: string, text: string, ttlMs: number): void {
    if (!this.#server.isUp) return
    // it is not kept
    this.#server.set(prefix + name, text, Math.max(1, Math.round(ttlMs))).catch(() => undefined)
  }

  /**
   * Deletes all cached answers.
   *
   * @returns how many
   * @throws Error if Redis does not reply
   */
  async clear (): Promise<number> {
    return await this.#server.deleteAll(prefix)
  }
}
