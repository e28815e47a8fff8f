/** Remembers sign-ins and registrations that have begun: each can be ended once, by the browser that began it, within ten minutes. */

import type { Kysely } from 'kysely'
import type { Tables } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { digestOf, newId } from './random-tokens.ts'

export type ChallengePurpose = 'add_passkey' | 'passkey_sign_in' | 'oidc_sign_in'

export const challengeMs = 10 * 60_000
/** Anyone may begin a sign-in: further ones end the oldest. */
const maxOpen = 10_000

export interface NewChallenge {
  readonly purpose: ChallengePurpose
  /** The text that only the browser has: the id of its session, or a cookie. */
  readonly holder: string
  readonly content: string
}

export class Challenges {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  /** @returns the id of the challenge */
  async create ({ purpose, holder, content }: NewChallenge): Promise<string> {
    const id = newId('challenge')
    const now = Date.now()
    await this.#use(async () => await this.#query.deleteFrom('challenges').where('expires_at_ms', '<=', now).execute())
    await this.#use(async () => (
      await this.#query.insertInto('challenges').values({ id, purpose, holder: digestOf(holder), content, expires_at_ms: now + challengeMs }).execute()
    ))
    await this.#endOldest()
    return id
  }

  /** Ends a challenge. @returns its content; `undefined` alike for one that is unknown, ended or expired, and for another browser */
  async take (purpose: ChallengePurpose, id: string, holder: string): Promise<string | undefined> {
    const row = await this.#use(async () => (
      await this.#query.deleteFrom('challenges').where('id', '=', id).where('purpose', '=', purpose).where('holder', '=', digestOf(holder))
        .returning(['content', 'expires_at_ms']).executeTakeFirst()
    ))
    return row === undefined || row.expires_at_ms <= Date.now() ? undefined : row.content
  }

  async #endOldest (): Promise<void> {
    const oldest = await this.#use(async () => (
      await this.#query.selectFrom('challenges').select('expires_at_ms').orderBy('expires_at_ms', 'desc').offset(maxOpen).limit(1).executeTakeFirst()
    ))
    if (oldest !== undefined) await this.#use(async () => await this.#query.deleteFrom('challenges').where('expires_at_ms', '<=', oldest.expires_at_ms).execute())
  }
}
