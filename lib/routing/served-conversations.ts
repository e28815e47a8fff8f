/**
 * Remembers, per process, who served conversations: the models that recently answered a session, and the
 * providers that made tool calls.
 */

import { ExpiringMap } from '../async/expiring-map.ts'

/** How long after the last answer a provider may still have a session's prompt cached, in milliseconds. */
const keptMs = 10 * 60_000
const maxSessions = 20_000

/** The models that recently answered sessions. */
export class ServedSessions {
  readonly #served = new ExpiringMap<number>(maxSessions)

  note (sessionId: string, modelId: string): void {
    this.#served.set(entryName(sessionId, modelId), performance.now(), keptMs)
  }

  /** Returns the time of the last answer (`performance.now()`). */
  servedAtMs (sessionId: string, modelId: string): number | undefined {
    return this.#served.get(entryName(sessionId, modelId))
  }
}

function entryName (sessionId: string, modelId: string): string {
  return `${sessionId}\n${modelId}`
}

/** Maximum ids to remember: callers usually send results within seconds. */
const maxIds = 10_000
/** Maximum length of an id. Usual ones have about 30 characters, but a provider may send any. */
const maxLength = 256

/**
 * The providers that made tool calls, for histories that include their ids; ids look alike at most
 * providers. Calls at other processes rely on the history itself.
 */
export class ToolCallOrigins {
  readonly #providers = new Map<string, string>()

  note (ids: readonly string[], providerId: string): void {
    for (const id of ids) {
      if (id.length > maxLength) continue
      this.#providers.delete(id)
      this.#providers.set(id, providerId)
    }
    for (const [oldest] of this.#providers) {
      if (this.#providers.size <= maxIds) break
      this.#providers.delete(oldest)
    }
  }

  providerOf (id: string): string | undefined {
    return this.#providers.get(id)
  }
}
