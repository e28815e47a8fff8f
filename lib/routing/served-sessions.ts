import { ExpiringMap } from '../async/expiring-map.ts'

/** Milliseconds after its last answer within which a provider may still have the prompt of a session. */
const keptMs = 10 * 60_000
const maxEntries = 20_000

/** Remembers which models have answered a session lately. Of this process. */
export class ServedSessions {
  readonly #served = new ExpiringMap<number>(maxEntries)

  note (sessionId: string, modelId: string): void {
    this.#served.set(nameOf(sessionId, modelId), performance.now(), keptMs)
  }

  /** Returns the time by `performance.now()` of the last answer. */
  servedAtMs (sessionId: string, modelId: string): number | undefined {
    return this.#served.get(nameOf(sessionId, modelId))
  }
}

function nameOf (sessionId: string, modelId: string): string {
  return `${sessionId}\n${modelId}`
}
