/**
 * Passkeys of users. The device holds the private key, unlocks it by fingerprint, face or PIN, and uses it
 * only for the host name it was created for. The store has the public key.
 *
 * @see https://www.w3.org/TR/webauthn-3/
 */

import type { Kysely } from 'kysely'
import { GatewayError } from '../core/errors.ts'
import type {
  Passkey,
  PasskeyChallenge,
  PasskeyCreation,
  PasskeyRegistration,
  PasskeySignIn
} from '../../schemas/admin/passkeys.ts'
import type { PasskeyRow, Tables, UserRow } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { newId } from './random-tokens.ts'

const maxPerUser = 20

export interface NewPasskey {
  readonly user: UserRow
  readonly name: string
  readonly challenge: string
  /** The origin of the page. */
  readonly page: URL
  readonly credential: PasskeyRegistration['credential']
}

export interface PasskeyProof {
  readonly challenge: string
  readonly page: URL
  /** True if `page` is the configured address, not one that the request claims. */
  readonly isConfigured: boolean
  readonly credential: PasskeySignIn['credential']
}

export class Passkeys {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  /** Returns whether any user can sign in with a passkey. */
  async exist (): Promise<boolean> {
    return (
      (await this.#use(
        async () => await this.#query.selectFrom('passkeys').select('id').limit(1).executeTakeFirst()
      )) !== undefined
    )
  }

  /** Lists the passkeys of a user, newest first. */
  async list (userId: string): Promise<Passkey[]> {
    return (await this.#rows(userId)).map(describePasskey)
  }

  /**
   * Returns what a browser needs to create a passkey.
   *
   * @throws GatewayError `conflict` when there are too many
   */
  async creationOptions (user: UserRow, page: URL): Promise<PasskeyCreation['options']> {
    const { generateRegistrationOptions } = await import('@simplewebauthn/server')
    const rows = await this.#rowsBelowLimit(user.id)
    const {
      challenge,
      rp,
      user: account,
      pubKeyCredParams
    } = await generateRegistrationOptions({
      rpName: 'Headgate',
      rpID: hostOf(page),
      userID: new TextEncoder().encode(user.id),
      userName: user.email ?? user.name,
      userDisplayName: user.name
    })
    return {
      challenge,
      rp,
      user: account,
      pubKeyCredParams,
      excludeCredentials: rows.map(({ credential_id: id }) => ({ type: 'public-key', id })),
      // Without a user name for the lookup, the device must store the passkey itself, and must verify its
      // user instead of a password.
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' }
    }
  }

  /**
   * @throws GatewayError `invalid_value` for a response that no device created for this challenge and page;
   *   `conflict` if there are too many passkeys by now
   */
  async add ({ user, name, challenge, page, credential }: NewPasskey): Promise<Passkey> {
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
    const { registrationInfo } = await verifyRegistrationResponse({
      response: credential,
      expectedChallenge: challenge,
      expectedOrigin: page.origin,
      expectedRPID: hostOf(page)
    }).catch((cause: unknown) => {
      throw refused(cause)
    })
    if (registrationInfo === undefined) throw refused()
    await this.#rowsBelowLimit(user.id)
    const { credential: { id: credentialId, publicKey, counter } } = registrationInfo
    const row: PasskeyRow = {
      id: newId('passkey'),
      user_id: user.id,
      name,
      credential_id: credentialId,
      public_key: Buffer.from(publicKey).toString('base64url'),
      uses: counter,
      host: hostOf(page),
      created_at_ms: Date.now(),
      last_used_at_ms: null,
      origin: page.origin
    }
    const added = await this.#use(
      async () =>
        await this.#query
          .insertInto('passkeys')
          .values(row)
          .onConflict(conflict => conflict.doNothing())
          .executeTakeFirstOrThrow()
    )
    if (added.numInsertedOrUpdatedRows === 0n) {
      throw new GatewayError('conflict', { message: 'This passkey has already been added.' })
    }
    return describePasskey(row)
  }

  /** Returns what a browser needs to find a passkey: of any user, since the device knows its passkeys. */
  async signInOptions (page: URL): Promise<PasskeyChallenge['options']> {
    const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
    const { challenge } = await generateAuthenticationOptions({ rpID: hostOf(page) })
    return { challenge, rpId: hostOf(page), userVerification: 'required' }
  }

  /**
   * Returns the id of the user who owns a passkey.
   *
   * A device uses a passkey at every port of its host name, and on subdomains, where other programs may serve
   * pages. Headers of requests that such a program relays can say anything, so the signed origin is compared
   * with the configured one, or with the origin of the page where the passkey was created.
   *
   * @throws GatewayError `invalid_credentials` for a passkey that is unknown, or proves nothing
   */
  async check ({ challenge, page, isConfigured, credential }: PasskeyProof): Promise<string> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('passkeys')
          .selectAll()
          .where('credential_id', '=', credential.id)
          .executeTakeFirst()
    )
    if (row === undefined) throw wrongPasskey()
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: credential,
      expectedChallenge: challenge,
      expectedOrigin: isConfigured ? page.origin : (row.origin ?? page.origin),
      expectedRPID: row.host,
      credential: {
        id: row.credential_id,
        publicKey: new Uint8Array(Buffer.from(row.public_key, 'base64url')),
        counter: row.uses
      }
    }).catch((cause: unknown) => {
      throw wrongPasskey(cause)
    })
    if (!verified) throw wrongPasskey()
    const { numUpdatedRows } = await this.#use(
      async () =>
        await this.#query
          .updateTable('passkeys')
          .set({ uses: authenticationInfo.newCounter, last_used_at_ms: Date.now() })
          .where('id', '=', row.id)
          .executeTakeFirstOrThrow()
    )
    if (numUpdatedRows === 0n) throw wrongPasskey() // removed at the same moment
    return row.user_id
  }

  /** @returns the removed passkey; `undefined` if the user has none with this id */
  async remove (userId: string, id: string): Promise<Passkey | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .deleteFrom('passkeys')
          .where('user_id', '=', userId)
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirst()
    )
    return row && describePasskey(row)
  }

  /** Removes all passkeys of a user. @returns their number */
  async removeAll (userId: string): Promise<number> {
    return (
      await this.#use(
        async () =>
          await this.#query.deleteFrom('passkeys').where('user_id', '=', userId).returning('id').execute()
      )
    ).length
  }

  /**
   * Returns the passkeys of a user who may add another.
   *
   * @throws GatewayError `conflict`
   */
  async #rowsBelowLimit (userId: string): Promise<PasskeyRow[]> {
    const rows = await this.#rows(userId)
    if (rows.length < maxPerUser) return rows
    throw new GatewayError('conflict', {
      message: `A user can have at most ${maxPerUser} passkeys. Remove one first.`
    })
  }

  async #rows (userId: string): Promise<PasskeyRow[]> {
    return await this.#use(
      async () =>
        await this.#query
          .selectFrom('passkeys')
          .selectAll()
          .where('user_id', '=', userId)
          .orderBy('created_at_ms', 'desc')
          .orderBy('id')
          .execute()
    )
  }
}

/** @throws GatewayError `invalid_value` for an IP address: browsers keep passkeys for names only */
function hostOf ({ hostname }: URL): string {
  if (!/^[\d.]+$|:/.test(hostname)) return hostname
  throw new GatewayError('invalid_value', {
    message:
      'Browsers keep passkeys for host names only. Open the dashboard by its name, such as `localhost`, instead of its IP address.'
  })
}

function refused (cause?: unknown): GatewayError {
  return new GatewayError('invalid_value', {
    param: 'credential',
    message: 'The passkey is not valid for this page and this request.',
    cause
  })
}

/** The same answer for an unknown passkey and for one that does not match. */
function wrongPasskey (cause?: unknown): GatewayError {
  return new GatewayError('invalid_credentials', {
    message: 'This passkey is not registered here. Sign in another way, then add it.',
    cause
  })
}

function describePasskey ({ id, name, host, created_at_ms, last_used_at_ms }: PasskeyRow): Passkey {
  return { id, name, host, created_at_ms, last_used_at_ms }
}
