/**
 * Creates and opens ids of deferred completions: everything needed to fetch one, sealed with a secret of the
 * store, so that every process with the same store can serve it and nobody else can read or forge it.
 */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** Identifies where a completion is and which key may fetch it. */
export interface DeferredTicket {
  /** Id of the gateway key that made the request. */
  readonly key: string
  /** Unix time. */
  readonly createdSeconds: number
  /** The gateway's name of the model. */
  readonly modelId: string
  /** The user of the caller's application. */
  readonly endUser?: string
  /** True if it is a digest. */
  readonly hashed?: boolean
  /** Parties besides its key, project and member toward whose budgets it counts. */
  readonly parties?: readonly string[]
  /** Absent for a completion that this gateway creates itself. */
  readonly upstream?: {
    readonly providerId: string
    /** The model's name there. */
    readonly model: string
    readonly upstreamId: string
    /** Digest of the credential that requested it: the completion belongs to the same account. */
    readonly credential: string
    /**
     * The charge for the receipt, in billionths of a dollar: the maximum cost of the answer under the budget
     * of its key.
     */
    readonly chargedNanoUsd?: number
    /** True if the answer is expected as a deprecated `function_call`. */
    readonly legacy: boolean
  }
}

const algorithm = 'aes-256-gcm'
const ivBytes = 12
const tagBytes = 16
const prefix = 'dfr_'

export class SealedTickets {
  readonly #secret: Buffer

  /** @param secret 32 bytes */
  constructor (secret: Buffer) {
    this.#secret = secret
  }

  /** Seals a ticket; the result differs each time. */
  seal (ticket: DeferredTicket): string {
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv(algorithm, this.#secret, iv)
    const sealed = [iv, cipher.update(JSON.stringify(ticket)), cipher.final(), cipher.getAuthTag()]
    return prefix + Buffer.concat(sealed).toString('base64url')
  }

  /** Opens an id; `undefined` for any text that was not sealed with this secret. */
  open (id: string): DeferredTicket | undefined {
    const bytes = Buffer.from(id.slice(prefix.length), 'base64url')
    // Accepts one spelling only: base64 can be written in several ways.
    if (id !== prefix + bytes.toString('base64url') || bytes.length < ivBytes + tagBytes) return undefined
    const decipher = createDecipheriv(algorithm, this.#secret, bytes.subarray(0, ivBytes))
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    try {
      const text =
        decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
      return JSON.parse(text) as DeferredTicket // sealed by this program
    } catch {
      return undefined
    }
  }
}

/** Returns the digest of an id or a credential, for places that must not have the text itself. */
export function digest (text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
