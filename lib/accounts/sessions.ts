/**
 * Sessions of users. A session is in the store, so that it can be ended. The gateway creates its cookie at
 * each sign-in and never adopts one from a request, so nobody can choose a user's cookie.
 *
 * Browsers send a cookie to every port of its host, so a session has a second secret, the CSRF token. The
 * page keeps the token where only pages of its own origin can read it, and sends it with every request. Only
 * the answer to the sign-in contains it.
 */

import { timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { SignIn } from '../../schemas/admin/session.ts'
import type { SessionRow, Tables, UserRow } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { digestOf, newId, newToken } from './random-tokens.ts'

/** Maximum age since the sign-in. */
const sessionMs = 14 * 86_400_000
/** Maximum time without a request. */
const idleMs = 3 * 86_400_000
/** The last use is written at most once in this time. */
const seenEveryMs = 60_000
/** A further session ends the oldest one. */
const maxPerUser = 50

export interface NewSession {
  /** The text of the cookie, stored nowhere. */
  readonly token: string
  /** The secret of the page, stored nowhere either. */
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
   * Returns the session of a cookie with its user; `undefined` for one that is unknown, expired or ended, and
   * for a disabled user.
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

  /** Lists the sessions of a user that are not expired or ended, latest first. */
  async list (userId: string, currentId: string): Promise<SignIn[]> {
    const now = Date.now()
    const rows = await this.#use(
      async () =>
        await this.#query
          .selectFrom('sessions')
          .selectAll()
          .where('user_id', '=', userId)
          .where('expires_at_ms', '>', now)
          .where('last_seen_at_ms', '>=', now - idleMs)
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

  /**
   * Ends a session of a user.
   *
   * @returns false if the user has no session with this id
   */
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

  /** Ends all sessions of a user, and revokes the keys of the user's playgrounds. */
  async endAll (userId: string): Promise<void> {
    await this.#use(
      async () => await this.#query.deleteFrom('sessions').where('user_id', '=', userId).execute()
    )
    await this.endPlaygrounds(userId)
  }

  /**
   * Revokes the keys that pages of a user have created for themselves: no list shows them, so nobody else
   * would.
   *
   * @param projectId only keys of this project. Default: all
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
