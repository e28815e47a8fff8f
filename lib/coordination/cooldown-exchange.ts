/**
 * Shares through Redis what cools down in each process: none has to find out by calls of its own that a
 * provider fails. Nothing waits for it.
 *
 * What cools down is kept in Redis until it is over, for processes that start or connect later.
 */

import type { RedisServer } from './redis-server.ts'

/** A cooldown as processes share it: of a model, of one credential, or of all of a provider. */
export interface SharedCooldown {
  readonly providerId: string
  readonly modelId?: string | undefined
  /** The gateway key for whose calls alone the model cools down. */
  readonly keyId?: string | undefined
  /** The index of a credential, of several. */
  readonly credential?: number | undefined
  /** 0: it is over. */
  readonly forMs: number
  /** For how long there have been nothing but failures. */
  readonly failingMs: number
}

export interface CooldownListener {
  /**
   * Returns what identifies a provider with its credentials, in every process; `undefined` for one that is
   * not shared.
   */
  readonly digestOf: (providerId: string) => string | undefined
  /** @param origin the name of the other process */
  readonly learn: (cooldown: SharedCooldown, origin: string) => void
}

/** Printed into Redis, where each is one member of a set. */
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
 * A provider that limits requests says so with each answer: a cooldown is reported again only when it ends so
 * much later.
 */
const laterMs = 1000
/** Models are named by callers: there is no end to what may cool down. */
const maxReported = 1000
/**
 * Cooldowns that are read from Redis do not say for how long there were failures before: at least as long as
 * it takes to open a circuit.
 */
const unknownFailingMs = 5000

/** A cooldown of this process, by the clock of Redis. */
interface Reported {
  /** The time of its end; 0 for one that has ended and that Redis may still have. */
  readonly untilMs: number
  /** The time since which the provider or model fails. */
  readonly sinceMs: number
}

export class CooldownExchange {
  readonly #server: RedisServer
  readonly #reported = new Map<string, Reported>()
  #listener: CooldownListener | undefined

  constructor (server: RedisServer) {
    this.#server = server
    server.on('back', () => this.#reportAll())
  }

  /** Calls back with what other processes have reported and report, from now on. */
  listen (listener: CooldownListener): void {
    this.#listener = listener
    this.#server.subscribe(cooldownsKey, message => {
      if (message === undefined) void this.#readAll()
      else this.#read(message)
    })
  }

  /** Reports a cooldown to the others. Without Redis they find out by themselves, or when it is back. */
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

  /** Reports to a Redis that is back, and may have lost everything. */
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
      // The clock of a Redis that has just come back may be behind.
      [member, Math.round(forMs), Math.max(0, Math.round(nowMs - reported.sinceMs))]
    )
    sent.then(
      () => {
        if (forMs === 0 && this.#reported.get(member) === reported) this.#reported.delete(member)
      },
      () => {
        /* Redis is away, which the server has emitted: it is sent again when it is back */
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
      // Redis is away, which the server has emitted: with the next connection it is read again.
    }
  }

  /** Reads `5000 800 ["origin",…]`. What another version writes in another form is left. */
  #read (message: string): void {
    const [, forMs, failingMs, member] = /^(\d+) (-?\d+) (\[.*\])$/s.exec(message) ?? []
    if (member !== undefined) this.#learn(member, Number(forMs), Math.max(0, Number(failingMs)))
  }

  #learn (member: string, forMs: number, failingMs: number): void {
    // written by a process of ours
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
