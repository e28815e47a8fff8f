import { timingSafeEqual } from 'node:crypto'
import { GatewayError } from '../core/errors.ts'
import { isExpired, type ApiKey } from '../core/key.ts'
import type { KeySettings } from '../core/settings.ts'
import { allGuards, type KeyEntry, type ListedKey } from './key-rows.ts'
import { digestOf } from './key-text.ts'

/** Maximum valid keys to remember, so that they need not be digested for every call. */
const maxAccepted = 1000

export type Entries = ReadonlyMap<string, KeyEntry>

/** The active keys in memory, so that a check never waits. */
export class LoadedKeys {
  readonly #isTooOld: () => boolean
  #settings: readonly KeySettings[] = []
  #configured: Entries = new Map()
  /** The guards of the default project, to which keys of the configuration belong. */
  #defaultGuards: readonly string[] | undefined
  #stored: Entries = new Map()
  #byId: ReadonlyMap<string, ApiKey> = new Map()
  /**
   * Valid keys as presented, since digesting and comparing take 2 µs. Wrong keys are never added, and any
   * change of the keys clears it.
   */
  readonly #accepted = new Map<string, KeyEntry>()

  /** @param isTooOld returns true when stored keys may have been revoked long ago */
  constructor (configured: readonly KeySettings[], isTooOld: () => boolean) {
    this.#isTooOld = isTooOld
    this.setConfigured(configured)
  }

  readonly check = (presented: string): ApiKey | undefined => {
    const cached = this.#accepted.get(presented)
    if (cached !== undefined) return cached.untilMs <= Date.now() ? undefined : cached.key
    const digest = digestOf(presented)
    const entry = this.#configured.get(digest) ?? this.#stored.get(digest)
    // Also compares the digest in constant time, which the map does not.
    if (entry === undefined || !timingSafeEqual(Buffer.from(digest, 'base64'), entry.digest)) return undefined
    if (!this.#configured.has(digest) && this.#isTooOld()) throw unreadable()
    if (entry.untilMs <= Date.now()) return undefined
    if (this.#accepted.size >= maxAccepted) this.#accepted.clear()
    this.#accepted.set(presented, entry)
    return entry.key
  }

  readonly find = (id: string): ApiKey | undefined => {
    const key = this.#byId.get(id)
    return key === undefined || isExpired(key) ? undefined : key
  }

  configured (): ListedKey[] {
    return this.#settings.map(fromSettings).map(([, key]) => (
      { ...key, source: 'configuration', status: isExpired(key) ? 'expired' : 'active' }
    ))
  }

  setConfigured (keys: readonly KeySettings[]): void {
    this.#settings = keys
    this.#onReplaced()
  }

  setStored (entries: Entries, defaultGuards: readonly string[] | undefined): void {
    this.#stored = entries
    this.#defaultGuards = defaultGuards
    this.#onReplaced()
  }

  /** Forgets valid keys, so that each is checked at its next use. */
  recheck (): void {
    this.#accepted.clear()
  }

  #onReplaced (): void {
    this.recheck()
    this.#configured = entriesOf(this.#settings.map(fromSettings).map(([digest, key]) => {
      const guards = allGuards(key.guards, this.#defaultGuards)
      return [digest, { ...key, ...guards !== undefined && { guards } }]
    }))
    const entries = [...this.#stored.values(), ...this.#configured.values()]
    this.#byId = new Map(entries.map(({ key }) => [key.id, key]))
  }
}

/** Returns the error for a key that may have been revoked long ago. */
function unreadable (): GatewayError {
  return new GatewayError('overloaded', {
    message: 'Keys cannot be checked at the moment. Try again later.',
    retryAfterSeconds: 5
  })
}

function entriesOf (keys: ReadonlyArray<readonly [digest: string, key: ApiKey]>): Entries {
  return new Map(keys.map(([digest, key]) => [
    digest, { key, digest: Buffer.from(digest, 'base64'), untilMs: key.expiresAtMs ?? Infinity }
  ]))
}

function fromSettings ({ key, name, ...scope }: KeySettings): readonly [string, ApiKey] {
  return [digestOf(key.reveal()), { id: `configured:${name}`, name, ...scope }]
}
