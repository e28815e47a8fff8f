import { ExpiringMap } from '../async/expiring-map.ts'

/** How long after the last answer a provider may still have a session's prompt cached, in milliseconds. */
const keptMs = 10 * 60_000
const maxEntries = 20_000

/** Remembers which models recently answered a session, per process. */
export class ServedSessions {
  readonly #served = new ExpiringMap<number>(maxEntries)

  note (sessionId: string, modelId: string): void {
    this.#served.set(nameOf(sessionId, modelId), performance.now(), keptMs)
  }

  /** Returns the time of the last answer (`performance.now()`). */
  servedAtMs (sessionId: string, modelId: string): number | undefined {
    return this.#served.get(nameOf(sessionId, modelId))
  }
}

function nameOf (sessionId: string, modelId: string): string {
  return `${sessionId}\n${modelId}`
}
