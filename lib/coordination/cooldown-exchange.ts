/**
 * Shares cooldowns between processes through Redis: no process needs failing calls of its own to learn that a
 * provider is down. Nothing waits for it.
 *
 * Redis keeps each cooldown until it ends, for processes that start or connect later.
 */

import type { RedisServer } from './redis-server.ts'

/** A cooldown as processes share it: of a model, a credential, or a whole provider. */
export interface SharedCooldown {
  readonly providerId: string
  readonly modelId?: string | undefined
  /** The gateway key, if the model cools down for its calls only. */
  readonly keyId?: string | undefined
  /** The index of a credential, if the provider has several. */
  readonly credential?: number | undefined
  /** 0: the cooldown is over. */
  readonly forMs: number
  /** How long every request has failed. */
  readonly failingMs: number
}

export interface CooldownListener {
  /**
   * Returns what identifies a provider and its credentials in every process; `undefined` for a provider that
   * is not shared.
   */
  readonly digestOf: (providerId: string) => string | undefined
  /** @param origin the name of the other process */
  readonly learn: (cooldown: SharedCooldown, origin: string) => void
}

/** Printed to Redis, where each cooldown is a member of a set. */
type Member = readonly [
  origin: string,
  digest: string,
  providerId: string,
  modelId: string | null,
  credential: number | null,
  keyId?: string | null
]

const cooldownsKey = 'headgate:cooldowns'
/**
 * A provider that limits requests reports it with each answer. A cooldown is shared again only if its end
 * moves by at least this much.
 */
const laterMs = 1000
/** Callers name models, so the number of cooldowns must be limited. */
const maxReported = 1000
/**
 * Cooldowns read from Redis lack the time of earlier failures. They are assumed to have lasted as long as it
 * takes to open a circuit.
 */
const unknownFailingMs = 5000

/** A cooldown of this process, by the clock of Redis. */
interface Reported {
  /** When it ends; 0 for one that has ended and that Redis may still have. */
  readonly untilMs: number
  /** Since when the provider or model fails. */
  readonly sinceMs: number
}

export class CooldownExchange {
  readonly #server: RedisServer
  readonly #reported = new Map<string, Reported>()
  #listener: CooldownListener | undefined

  constructor (server: RedisServer) {
    this.#server = server
    server.on('reachable', () => this.#reportAll())
  }

  /** Calls back with the cooldowns that other processes have reported and will report. */
  listen (listener: CooldownListener): void {
    this.#listener = listener
    this.#server.subscribe(cooldownsKey, message => {
      if (message === undefined) void this.#readAll()
      else this.#read(message)
    })
  }

  /**
   * Reports a cooldown to the other processes. Without Redis they find out by themselves, or when it is
   * available again.
   */
  report ({ providerId, modelId, keyId, credential, forMs, failingMs }: SharedCooldown): void {
    const digest = this.#listener?.digestOf(providerId)
    if (digest === undefined) return
    const member = JSON.stringify([
      this.#server.id,
      digest,
      providerId,
      modelId ?? null,
      credential ?? null,
      keyId ?? null
    ] satisfies Member)
    const nowMs = this.#server.now()
    const untilMs = forMs > 0 ? nowMs + forMs : 0
    if (forMs > 0 && untilMs < (this.#reported.get(member)?.untilMs ?? 0) + laterMs) return
    if (this.#reported.size >= maxReported) this.#reported.clear()
    this.#reported.set(member, { untilMs, sinceMs: nowMs - failingMs })
    if (this.#server.isUp) this.#send(member)
  }

  /** Reports all cooldowns to a Redis that is available again, and may have lost everything. */
  #reportAll (): void {
    for (const member of this.#reported.keys()) this.#send(member)
  }

  #send (member: string): void {
    const reported = this.#reported.get(member)
    if (reported === undefined) return
    const nowMs = this.#server.now()
    const forMs = Math.max(0, reported.untilMs - nowMs)
    const sent = this.#server.run(
      'hgCooldown',
      [cooldownsKey],
      // The clock of a Redis that has just restarted may be behind.
      [member, Math.round(forMs), Math.max(0, Math.round(nowMs - reported.sinceMs))]
    )
    sent.then(
      () => {
        if (forMs === 0 && this.#reported.get(member) === reported) this.#reported.delete(member)
      },
      () => {
        /* Redis is unreachable, which the server has reported: it is sent again when Redis is back */
      }
    )
  }

  async #readAll (): Promise<void> {
    const nowMs = this.#server.now()
    try {
      for (const [member, untilMs] of await this.#server.scored(cooldownsKey, nowMs)) {
        this.#learn(member, untilMs - nowMs, unknownFailingMs)
      }
    } catch {
      // Redis is unreachable, which the server has reported: it is read again with the next connection.
    }
  }

  /** Reads `5000 800 ["origin",…]`. Entries in the form of another version are ignored. */
  #read (message: string): void {
    const [, forMs, failingMs, member] = /^(\d+) (-?\d+) (\[.*\])$/s.exec(message) ?? []
    if (member !== undefined) this.#learn(member, Number(forMs), Math.max(0, Number(failingMs)))
  }

  #learn (member: string, forMs: number, failingMs: number): void {
    // written by a process of this program
    const [origin, digest, providerId, modelId, credential, keyId] = JSON.parse(member) as Member
    if (origin === this.#server.id || this.#listener?.digestOf(providerId) !== digest) return
    this.#listener.learn(
      {
        providerId,
        modelId: modelId ?? undefined,
        credential: credential ?? undefined,
        keyId: keyId ?? undefined,
        forMs,
        failingMs
      },
      origin
    )
  }
}
