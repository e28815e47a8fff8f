/**
 * Remembers the answers to requests with an `Idempotency-Key` for a day. An answer may hold a new key, so it
 * is sealed with the credential of its request: the store alone cannot decrypt it.
 */

import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import { GatewayError } from '../core/errors.ts'
import type { Tables } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'

export interface IdempotentRequest {
  /** Id of the caller. */
  readonly caller: string
  /** The cookie or the key of the caller. */
  readonly credential: string
  readonly key: string
  /** The route and the body. */
  readonly request: string
}

const keepMs = 86_400_000
/** A request still open by then was interrupted, and may be sent again. */
const inFlightMs = 60_000
const maxKeyLength = 255

export class Idempotency {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  /**
   * Runs `work`, or returns the answer of the first request with the same key.
   *
   * @throws GatewayError `conflict` when the key was used for another request or by another credential, or is
   *   in flight
   */
  async run (given: IdempotentRequest, work: () => Promise<string>): Promise<string> {
    if (given.key === '' || given.key.length > maxKeyLength) {
      throw new GatewayError('invalid_value', {
        message: `\`Idempotency-Key\` must have 1 to ${maxKeyLength} characters.`
      })
    }
    const id = hash('sha256', JSON.stringify([given.caller, given.key]))
    const request = hash('sha256', given.request)
    const known = await this.#claim(id, request)
    if (known !== undefined) return answerOf(known, given, request)
    const answer = await work().catch(async (error: unknown) => {
      await this.#use(
        async () => await this.#query.deleteFrom('idempotent_answers').where('id', '=', id).execute()
      )
      throw error
    })
    // The work is done even if its answer cannot be stored: the claim stays, so that no request repeats it.
    await this.#use(
      async () =>
        await this.#query
          .updateTable('idempotent_answers')
          .set({ answer: seal(answer, given), expires_at_ms: Date.now() + keepMs })
          .where('id', '=', id)
          .execute()
    )
    return answer
  }

  /**
   * Claims a key for a request.
   *
   * @returns its row if another request has claimed it
   */
  async #claim (
    id: string,
    request: string
  ): Promise<{ readonly request: string, readonly answer: string | null } | undefined> {
    const now = Date.now()
    await this.#use(
      async () =>
        await this.#query.deleteFrom('idempotent_answers').where('expires_at_ms', '<=', now).execute()
    )
    const row = { id, request, answer: null, expires_at_ms: now + inFlightMs }
    const added = await this.#use(
      async () =>
        await this.#query
          .insertInto('idempotent_answers')
          .values(row)
          .onConflict(conflict => conflict.doNothing())
          .executeTakeFirstOrThrow()
    )
    if (added.numInsertedOrUpdatedRows !== 0n) return undefined
    return (
      (await this.#use(
        async () =>
          await this.#query
            .selectFrom('idempotent_answers')
            .select(['request', 'answer'])
            .where('id', '=', id)
            .executeTakeFirst()
      )) ?? row
    )
  }
}

function answerOf (
  known: { readonly request: string, readonly answer: string | null },
  given: IdempotentRequest,
  request: string
): string {
  if (known.request !== request) throw conflict('This `Idempotency-Key` was used for another request. Send a new one.')
  if (known.answer === null) {
    throw conflict('The first request with this `Idempotency-Key` is still in progress. Try again later.')
  }
  return open(known.answer, given)
}

function conflict (message: string): GatewayError {
  return new GatewayError('conflict', { message })
}

function sealingKey ({ key, credential }: IdempotentRequest, salt: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', credential, salt, `idempotency ${key}`, 32))
}

function seal (text: string, given: IdempotentRequest): string {
  const [salt, iv] = [randomBytes(16), randomBytes(12)]
  const cipher = createCipheriv('aes-256-gcm', sealingKey(given, salt), iv)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([salt, iv, cipher.getAuthTag(), sealed]).toString('base64')
}

/** @throws GatewayError `conflict` for another credential of the same caller */
function open (sealed: string, given: IdempotentRequest): string {
  const bytes = Buffer.from(sealed, 'base64')
  const decipher = createDecipheriv(
    'aes-256-gcm',
    sealingKey(given, bytes.subarray(0, 16)),
    bytes.subarray(16, 28)
  )
  decipher.setAuthTag(bytes.subarray(28, 44))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(44)), decipher.final()]).toString()
  } catch (cause) {
    throw new GatewayError('conflict', {
      message: 'This `Idempotency-Key` was used with another session. Send a new one.',
      cause
    })
  }
}
