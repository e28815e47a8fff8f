/**
 * Decides whether the process accepts another call, and more bytes of its body.
 *
 * A call enters when its body is requested. Its API key has been checked by then, so callers without a key
 * take no slot. Calls that need no key, such as admin calls and sign-ins, share as if they had one in common.
 * When a call ends, it releases everything it holds.
 */

import { getHeapStatistics } from 'node:v8'
import { GatewayError } from '../core/errors.ts'
import { FairShare } from '../async/fair-share.ts'
import type { HeldMemory } from '../core/held-memory.ts'

export interface AdmissionBounds {
  readonly openCalls: number
  /** The share of the remaining calls, memory and disk that one key may hold: 0 to 1. */
  readonly maxSharePerKey: number
  /** Memory of all JSON bodies, as `http/read-json` estimates it. Default: a quarter of the heap limit. */
  readonly bodyMemoryBytes?: number
  /** Bytes of uploads on disk, over all calls. */
  readonly uploadDiskBytes: number
  /**
   * Milliseconds after which a caller who accepts nothing of the reply can lose the call to free memory.
   * Default: 5,000. The system frees its buffer a third at a time, so a slow caller seems to accept nothing
   * for a while.
   */
  readonly patienceMs?: number
}

/** Memory or disk space that a body may take. */
export interface ByteAllowance {
  /** True if after so many more bytes, half of the total and half of the key's share would still be free. */
  readonly leavesHalfFree: (bytes: number) => boolean
  /** @throws GatewayError `overloaded`; `file_too_large` for more than a key can ever hold */
  readonly take: (bytes: number) => void
}

/** A call that can be ended to free memory, because its caller does not read pending output. */
export interface EvictableCall {
  readonly keyId: string
  /** Bytes of memory freed by its end. */
  readonly heldBytes: number
  /** Ends the call and frees its memory immediately. */
  readonly endAsTooSlow: () => void
}

/**
 * Calls whose callers accept nothing of pending output, longest first. While memory is short, the first ones
 * are ended.
 */
class StalledCalls {
  readonly #sinceMs = new Map<EvictableCall, number>()
  readonly #patienceMs: number

  constructor (patienceMs = 5000) {
    this.#patienceMs = patienceMs
  }

  /** Records whether output is pending for a caller; called again when some has been accepted. */
  set (call: EvictableCall, isStalled: boolean): void {
    if (!isStalled) this.#sinceMs.delete(call)
    else if (!this.#sinceMs.has(call)) this.#sinceMs.set(call, performance.now())
  }

  /**
   * Ends the call that has waited longest for its caller, among those that hold memory.
   *
   * @param keyId of this key only. Default: any key
   * @returns false if there is none
   */
  endLongest (keyId?: string): boolean {
    const nowMs = performance.now()
    for (const [call, sinceMs] of this.#sinceMs) {
      if (nowMs - sinceMs < this.#patienceMs) return false
      if (call.heldBytes === 0 || (keyId !== undefined && call.keyId !== keyId)) continue
      this.#sinceMs.delete(call)
      call.endAsTooSlow()
      return true
    }
    return false
  }
}

/**
 * Bounds what the open calls of the process hold together: slots, memory for bodies and disk for uploads.
 * Each is shared fairly among keys.
 */
export class Admission {
  readonly stalled: StalledCalls
  readonly #calls: FairShare
  readonly #memory: FairShare
  readonly #disk: FairShare

  constructor ({ openCalls, maxSharePerKey, bodyMemoryBytes, uploadDiskBytes, patienceMs }: AdmissionBounds) {
    this.#calls = new FairShare(openCalls, maxSharePerKey)
    this.#memory = new FairShare(bodyMemoryBytes ?? defaultMemoryBytes(), maxSharePerKey)
    this.#disk = new FairShare(uploadDiskBytes, maxSharePerKey)
    this.stalled = new StalledCalls(patienceMs)
  }

  /** Applies the bounds of a new configuration to new calls. */
  applyBounds ({ openCalls, maxSharePerKey, bodyMemoryBytes, uploadDiskBytes }: AdmissionBounds): void {
    this.#calls.resize(openCalls, maxSharePerKey)
    this.#memory.resize(bodyMemoryBytes ?? defaultMemoryBytes(), maxSharePerKey)
    this.#disk.resize(uploadDiskBytes, maxSharePerKey)
  }

  /** Calls that have entered and not left. */
  get openCalls (): number {
    return this.#calls.used
  }

  /** Bytes in use now. */
  get inUse (): { readonly memoryBytes: number, readonly diskBytes: number } {
    return { memoryBytes: this.#memory.used, diskBytes: this.#disk.used }
  }

  /** @throws GatewayError `overloaded` if there is no slot for another call, or for one of this key */
  enter (keyId: string): CallResources {
    const calls = this.#calls
    if (!calls.take(keyId, 1)) {
      const isFull = calls.used >= calls.total
      const limit = isFull ? calls.total : calls.maxOf(keyId)
      throw new GatewayError('overloaded', {
        message: isFull
          ? undefined
          : `This API key has reached its share of ${limit} open calls. Try again later.`,
        rateLimits: { 'x-ratelimit-limit-requests': String(limit) }
      })
    }
    const memory = new HeldBytes(keyId, this.#memory, 'memory', this.stalled)
    const disk = new HeldBytes(keyId, this.#disk, 'disk space')
    let isClosed = false
    return {
      memory,
      disk,
      close: () => {
        if (isClosed) return
        isClosed = true
        calls.release(keyId, 1)
        memory.close()
        disk.close()
      }
    }
  }

  /** Returns memory for data that arrives on connections shared by several calls. */
  readonly holdMemory = (keyId = sharedByKeys): HeldMemory =>
    new HeldBytes(keyId, this.#memory, 'memory', this.stalled)
}

/** Stands for all keys together: no key has this id. */
const sharedByKeys = ''

function defaultMemoryBytes (): number {
  return Math.floor(getHeapStatistics().heap_size_limit / 4)
}

/** The resources held by one call: its slot, memory and disk space. */
export interface CallResources {
  readonly memory: HeldBytes
  readonly disk: HeldBytes
  /** Releases everything; repeated calls have no effect. */
  readonly close: () => void
}

/** Bytes of one kind that are held in the share of a key. */
class HeldBytes implements ByteAllowance, HeldMemory {
  readonly #keyId: string
  readonly #share: FairShare
  readonly #resource: string
  readonly #stalled: StalledCalls | undefined
  #bytes = 0
  #isClosed = false
  #isKept = false

  /** @param stalled calls that can be ended to make room. Default: none */
  constructor (keyId: string, share: FairShare, resource: string, stalled?: StalledCalls) {
    this.#keyId = keyId
    this.#share = share
    this.#resource = resource
    this.#stalled = stalled
  }

  leavesHalfFree (bytes: number): boolean {
    return this.#share.leavesHalf(this.#keyId, bytes)
  }

  take (bytes: number): void {
    // A body may still be arriving when its call has ended: nothing would release what it takes.
    if (this.#isClosed || bytes === 0) return
    while (!this.#share.take(this.#keyId, bytes)) {
      if (this.#bytes + bytes > this.#share.maxAlone) {
        throw new GatewayError('file_too_large', {
          message: `The body needs more ${this.#resource} than one API key may use.`
        })
      }
      // Other calls are ended only if this key stays within its share.
      const isShortForAll = this.#share.used + bytes > this.#share.total
      const mayHave = this.#share.amountOf(this.#keyId) + bytes <= this.#share.maxAlone
      if (this.#stalled?.endLongest(isShortForAll && mayHave ? undefined : this.#keyId) !== true) {
        throw new GatewayError('overloaded', {
          message: `The gateway is out of ${this.#resource}. Try again later.`
        })
      }
    }
    this.#bytes += bytes
  }

  /** Bytes that closing releases. */
  get bytes (): number {
    return this.#isKept ? 0 : this.#bytes
  }

  release (bytes: number): void {
    const released = Math.min(bytes, this.#bytes)
    if (released > 0) this.#share.release(this.#keyId, released)
    this.#bytes -= released
  }

  /** Releases all bytes, and takes no more, unless they are kept. */
  close (): void {
    if (this.#isKept) return
    this.#isClosed = true
    this.release(this.#bytes)
  }

  /**
   * Keeps the bytes beyond `close`, until the returned function is called.
   *
   * @throws GatewayError `overloaded` if other calls of the key hold bytes too, and less than half of its
   *   share or of the total would stay free for later calls
   */
  keep (): () => void {
    const isAlone = this.#share.amountOf(this.#keyId) === this.#bytes
    if (!isAlone && !this.#share.leavesHalf(this.#keyId, 0)) {
      throw new GatewayError('overloaded', {
        message: `The gateway is out of ${this.#resource} for work in the background. Try again later.`
      })
    }
    this.#isKept = true
    return () => {
      this.#isKept = false
      this.close()
    }
  }
}
