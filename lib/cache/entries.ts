/** Stores answers: in the memory of this process, or sealed in storage that several processes share. */

import { openText, sealText } from '../text/sealed-text.ts'

/** Stands for a request. */
export interface RequestDigest {
  /** Names the entry, and reveals nothing about the request. */
  readonly name: string
  /** The encryption key of the entry, 32 bytes. It can only be derived from the request itself. */
  readonly encryptionKey: Buffer
}

export interface Entries {
  /** Memory of this process taken by entries. */
  readonly bytes?: number
  readonly get: (digest: RequestDigest) => string | undefined | Promise<string | undefined>
  /** Stores a text for some milliseconds, replacing an earlier one. */
  readonly set: (digest: RequestDigest, text: string, ttlMs: number) => void
}

/** Texts shared by several processes. Neither function rejects. */
export interface SharedTexts {
  readonly get: (name: string) => Promise<string | undefined>
  readonly set: (name: string, text: string, ttlMs: number) => void
}

interface Entry {
  readonly text: string
  readonly bytes: number
  readonly expiresAtMs: number
}

/** Overhead of an entry: its name, numbers, and place in the map. */
const entryBytes = 300

/** Keeps texts in memory, up to a number of bytes; evicts the least recently used. */
export class MemoryEntries implements Entries {
  readonly #entries = new Map<string, Entry>()
  readonly #maxBytes: number
  #bytes = 0

  constructor (maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes (): number {
    return this.#bytes
  }

  get size (): number {
    return this.#entries.size
  }

  get ({ name }: RequestDigest): string | undefined {
    const entry = this.#take(name)
    if (entry === undefined || entry.expiresAtMs <= performance.now()) return undefined
    this.#put(name, entry)
    return entry.text
  }

  set ({ name }: RequestDigest, text: string, ttlMs: number): void {
    this.#take(name)
    // A string takes two bytes per character if any character needs them.
    this.#put(name, { text, bytes: 2 * text.length + entryBytes, expiresAtMs: performance.now() + ttlMs })
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.#take(oldest)
    }
  }

  #put (name: string, entry: Entry): void {
    this.#entries.set(name, entry)
    this.#bytes += entry.bytes
  }

  #take (name: string): Entry | undefined {
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    this.#entries.delete(name)
    this.#bytes -= entry.bytes
    return entry
  }
}

/**
 * Stores sealed texts where several processes can read them: only a process that knows the request can open
 * its text.
 */
export class SealedEntries implements Entries {
  readonly #shared: SharedTexts

  constructor (shared: SharedTexts) {
    this.#shared = shared
  }

  async get (digest: RequestDigest): Promise<string | undefined> {
    const sealed = await this.#shared.get(digest.name)
    return sealed === undefined ? undefined : openText(sealed, digest.encryptionKey, digest.name)
  }

  set (digest: RequestDigest, text: string, ttlMs: number): void {
    this.#shared.set(digest.name, sealText(text, digest.encryptionKey, digest.name), ttlMs)
  }
}
