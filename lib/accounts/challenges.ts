/**
 * Remembers sign-ins and registrations in progress. Each can be completed once, by the browser that started
 * it, within ten minutes.
 */

import type { Kysely } from 'kysely'
import type { ChallengeRow, Tables } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { GatewayError } from '../core/errors.ts'
import { networkOf } from './throttle.ts'
import { digestOf, newId } from './random-tokens.ts'

export type ChallengePurpose = 'add_passkey' | 'passkey_sign_in' | 'oidc_sign_in'

export const challengeMs = 10 * 60_000
/**
 * Anyone may start a sign-in. A new one beyond this limit ends the oldest of the same network or session,
 * never those of others.
 */
const maxOfOne = 100
/** Above this limit no stranger can start one; open ones can still be completed. */
const maxOpen = 100_000

export interface NewChallenge {
  readonly purpose: ChallengePurpose
  /** A text that only the browser has: the id of its session, or a cookie. */
  readonly holder: string
  /** The address of a stranger; `null` for a caller with a session. */
  readonly address: string | null
  readonly content: string
}

export class Challenges {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  /**
   * @returns the id of the challenge
   * @throws GatewayError `overloaded` when strangers have started too many
   */
  async create ({ purpose, holder, address, content }: NewChallenge): Promise<string> {
    const id = newId('challenge')
    const now = Date.now()
    const network = address === null ? null : networkOf(address)
    await this.#use(
      async () => await this.#query.deleteFrom('challenges').where('expires_at_ms', '<=', now).execute()
    )
    if (network !== null) await this.#checkRoom()
    const row = { id, purpose, holder: digestOf(holder), network, content, expires_at_ms: now + challengeMs }
    await this.#makeRoom(row)
    await this.#use(async () => await this.#query.insertInto('challenges').values(row).execute())
    return id
  }

  /**
   * Completes a challenge.
   *
   * @returns its content; `undefined` for one that is unknown, completed, expired or of another browser
   */
  async take (purpose: ChallengePurpose, id: string, holder: string): Promise<string | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .deleteFrom('challenges')
          .where('id', '=', id)
          .where('purpose', '=', purpose)
          .where('holder', '=', digestOf(holder))
          .returning(['content', 'expires_at_ms'])
          .executeTakeFirst()
    )
    return row === undefined || row.expires_at_ms <= Date.now() ? undefined : row.content
  }

  /** @throws GatewayError `overloaded` when strangers have started too many */
  async #checkRoom (): Promise<void> {
    const { open } = await this.#use(
      async () =>
        await this.#query
          .selectFrom('challenges')
          .select(({ fn }) => fn.countAll<number>().as('open'))
          .where('network', 'is not', null)
          .executeTakeFirstOrThrow()
    )
    if (open >= maxOpen) {
      throw new GatewayError('overloaded', {
        message: 'Too many sign-ins have been started. Try again in ten minutes.',
        retryAfterSeconds: 600
      })
    }
  }

  async #makeRoom ({ holder, network }: Pick<ChallengeRow, 'holder' | 'network'>): Promise<void> {
    const open = this.#query.selectFrom('challenges').select('id')
    const own =
      network === null
        ? open.where('network', 'is', null).where('holder', '=', holder)
        : open.where('network', '=', network)
    const oldest = await this.#use(
      async () =>
        await own
          .orderBy('expires_at_ms', 'desc')
          .orderBy('id')
          .offset(maxOfOne - 1)
          .limit(maxOfOne)
          .execute()
    )
    if (oldest.length === 0) return
    await this.#use(
      async () =>
        await this.#query
          .deleteFrom('challenges')
          .where(
            'id',
            'in',
            oldest.map(({ id }) => id)
          )
          .execute()
    )
  }
}
