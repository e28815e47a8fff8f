/**
 * Sign-ins of users. A session is in the store, so that it can be ended; its cookie is made by the gateway at
 * each sign-in and never taken over from a request, so that none can be chosen for a user.
 *
 * Browsers send a cookie to every port of its host, so a session has a second secret, the CSRF token. The
 * page keeps it where only pages of its own origin can read it and sends it with every request; no answer but
 * that to the sign-in contains it.
 */

import { timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { SignIn } from '../../schemas/admin/session.ts'
import type { SessionRow, Tables, UserRow } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { digestOf, newId, newToken } from './random-tokens.ts'

/** From the sign-in, whatever happens. */
const sessionMs = 14 * 86_400_000
/** Without any request. */
const idleMs = 3 * 86_400_000
/** A sign of life is written once in this time. */
const seenEveryMs = 60_000
/** Further ones end the oldest. */
const maxPerUser = 50

export interface NewSession {
  /** The text of the cookie, which is nowhere else. */
  readonly token: string
  /** The secret of the page, which is nowhere else either. */
  readonly csrfToken: string
  readonly row: SessionRow
}

export interface Device {
  readonly address: string | null
  readonly userAgent: string | null
}

export class Sessions {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  async create (userId: string, { address, userAgent }: Device, byLink: boolean): Promise<NewSession> {
    const token = newToken()
    const csrfToken = newToken()
    const now = Date.now()
    const row: SessionRow = {
      digest: digestOf(token),
      id: newId('session'),
      user_id: userId,
      csrf_token: digestOf(csrfToken),
      by_link: Number(byLink),
      address,
      user_agent: userAgent?.slice(0, 300) ?? null,
      created_at_ms: now,
      last_seen_at_ms: now,
      expires_at_ms: now + sessionMs
    }
    await this.#use(async () => await this.#query.insertInto('sessions').values(row).execute())
    await this.#use(
      async () => await this.#query.deleteFrom('sessions').where('expires_at_ms', '<=', now).execute()
    )
    await this.#endOldest(userId)
    return { token, csrfToken, row }
  }

  /**
   * Returns the session of a cookie with its user; `undefined` alike for one that is unknown, expired or
   * ended, and for a disabled user.
   */
  async find (token: string): Promise<{ readonly session: SessionRow, readonly user: UserRow } | undefined> {
    const now = Date.now()
    const session = await this.#use(
      async () =>
        await this.#query
          .selectFrom('sessions')
          .selectAll()
          .where('digest', '=', digestOf(token))
          .where('expires_at_ms', '>', now)
          .executeTakeFirst()
    )
    if (session === undefined || now - session.last_seen_at_ms > idleMs) return undefined
    const user = await this.#use(
      async () =>
        await this.#query
          .selectFrom('users')
          .selectAll()
          .where('id', '=', session.user_id)
          .where('disabled_at_ms', 'is', null)
          .executeTakeFirst()
    )
    if (user === undefined) return undefined
    if (now - session.last_seen_at_ms >= seenEveryMs) {
      await this.#use(
        async () =>
          await this.#query
            .updateTable('sessions')
            .set({ last_seen_at_ms: now })
            .where('id', '=', session.id)
            .execute()
      )
    }
    return { session, user }
  }

  /** Lists the sessions of a user, the latest first. */
  async list (userId: string, currentId: string): Promise<SignIn[]> {
    const rows = await this.#use(
      async () =>
        await this.#query
          .selectFrom('sessions')
          .selectAll()
          .where('user_id', '=', userId)
          .where('expires_at_ms', '>', Date.now())
          .orderBy('last_seen_at_ms', 'desc')
          .execute()
    )
    return rows.map(({ id, created_at_ms, last_seen_at_ms, expires_at_ms, address, user_agent }) => ({
      id,
      created_at_ms,
      last_seen_at_ms,
      expires_at_ms,
      address,
      user_agent,
      current: id === currentId
    }))
  }

  /** Ends a session of a user. @returns false when there is none with this id */
  async end (userId: string, id: string): Promise<boolean> {
    const ended = await this.#use(
      async () =>
        await this.#query
          .deleteFrom('sessions')
          .where('user_id', '=', userId)
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
    )
    return ended.numDeletedRows > 0n
  }

  /** Ends all sessions of a user, and the keys that their playgrounds have. */
  async endAll (userId: string): Promise<void> {
    await this.#use(
      async () => await this.#query.deleteFrom('sessions').where('user_id', '=', userId).execute()
    )
    await this.endPlaygrounds(userId)
  }

  /**
   * Revokes the keys that pages of a user have made for themselves: no list shows them, so nobody else would.
   *
   * @param projectId of those of one project. Default: of all
   */
  async endPlaygrounds (userId: string, projectId?: string): Promise<void> {
    await this.#use(
      async () =>
        await this.#query
          .updateTable('keys')
          .set({ revoked_at_ms: Date.now() })
          .where('owner_id', '=', userId)
          .where('temporary', 'is not', null)
          .where('revoked_at_ms', 'is', null)
          .$if(projectId !== undefined, keys => keys.where('project_id', '=', projectId ?? ''))
          .execute()
    )
  }

  async #endOldest (userId: string): Promise<void> {
    const newest = await this.#use(
      async () =>
        await this.#query
          .selectFrom('sessions')
          .select('id')
          .where('user_id', '=', userId)
          .orderBy('created_at_ms', 'desc')
          .limit(maxPerUser)
          .execute()
    )
    if (newest.length < maxPerUser) return
    await this.#use(
      async () =>
        await this.#query
          .deleteFrom('sessions')
          .where('user_id', '=', userId)
          .where(
            'id',
            'not in',
            newest.map(({ id }) => id)
          )
          .execute()
    )
  }
}

/** Returns true for the token of a session's page. Digests are compared in constant time. */
export function provesOrigin (csrfDigest: string, csrfToken: unknown): boolean {
  if (typeof csrfToken !== 'string') return false
  const [expected, found] = [Buffer.from(csrfDigest), Buffer.from(digestOf(csrfToken))]
  return expected.length === found.length && timingSafeEqual(expected, found)
}
