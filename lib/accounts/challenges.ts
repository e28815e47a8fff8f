/**
 * Remembers sign-ins and registrations that have begun: each can be ended once, by the browser that began it,
 * within ten minutes.
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
 * Anyone may begin a sign-in: further ones of a network, or of a session, end its oldest, and never those of
 * others.
 */
const maxOfOne = 100
/** Beyond them no stranger begins one: those that are open can still be ended. */
const maxOpen = 100_000

export interface NewChallenge {
  readonly purpose: ChallengePurpose
  /** The text that only the browser has: the id of its session, or a cookie. */
  readonly holder: string
  /** The address of a stranger; `null` for one who has a session. */
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
   * @throws GatewayError `overloaded` when strangers have begun too many
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
   * Ends a challenge. @returns its content; `undefined` alike for one that is unknown, ended or expired, and
   * for another browser
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

  /** @throws GatewayError `overloaded` when strangers have begun too many */
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
