/**
 * Links users to persons at a provider of OpenID Connect: by issuer and subject, since an email may pass to
 * another person.
 */

import type { Kysely } from 'kysely'
import type { Tables } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'

export class Identities {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  /** Returns the id of the user. */
  async find (issuer: string, subject: string): Promise<string | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('identities')
          .select('user_id')
          .where('issuer', '=', issuer)
          .where('subject', '=', subject)
          .executeTakeFirst()
    )
    return row?.user_id
  }

  /** Returns whether an issuer knows a user. */
  async has (issuer: string, userId: string): Promise<boolean> {
    return (
      (await this.#use(
        async () =>
          await this.#query
            .selectFrom('identities')
            .select('subject')
            .where('issuer', '=', issuer)
            .where('user_id', '=', userId)
            .executeTakeFirst()
      )) !== undefined
    )
  }

  /** @returns false if the user is already linked to someone else at this provider */
  async add (issuer: string, subject: string, userId: string): Promise<boolean> {
    const added = await this.#use(
      async () =>
        await this.#query
          .insertInto('identities')
          .values({ issuer, subject, user_id: userId, created_at_ms: Date.now() })
          .onConflict(conflict => conflict.doNothing())
          .executeTakeFirstOrThrow()
    )
    return added.numInsertedOrUpdatedRows !== 0n
  }
}
