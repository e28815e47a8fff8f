/**
 * One-time links: to sign a user in, and to invite a person. The store has only digests of the tokens.
 */

import type { Kysely } from 'kysely'
import type { Role } from '../../schemas/admin/common.ts'
import type { Invitation } from '../../schemas/admin/organisation.ts'
import type { InvitationRow, Tables } from '../stores/tables.ts'
import type { UseStore } from '../stores/use-store.ts'
import { beyond, pageOf, type PageOf, type PageRequest } from '../stores/pages.ts'
import { digestOf, newId, newToken } from './random-tokens.ts'

const linkMs = 60 * 60_000
const invitationMs = 7 * 86_400_000

export interface NewLink {
  readonly token: string
  readonly expiresAtMs: number
}

export interface NewInvitation {
  readonly role: Role
  readonly email?: string | undefined
  readonly projects?: readonly string[] | undefined
  /** Name of the user. */
  readonly invitedBy: string
}

export class Links {
  readonly #query: Kysely<Tables>
  readonly #use: UseStore

  constructor (query: Kysely<Tables>, use: UseStore) {
    this.#query = query
    this.#use = use
  }

  /** Creates a link with which a user signs in; an unused earlier one ends. */
  async createSignIn (userId: string): Promise<NewLink> {
    const token = newToken()
    const expiresAtMs = Date.now() + linkMs
    await this.endSignIn(userId)
    await this.#use(
      async () =>
        await this.#query
          .insertInto('sign_in_links')
          .values({ digest: digestOf(token), user_id: userId, expires_at_ms: expiresAtMs })
          .execute()
    )
    return { token, expiresAtMs }
  }

  /**
   * Uses a link.
   *
   * @returns the id of its user; `undefined` for one that is unknown, used or expired
   */
  async useSignIn (token: string): Promise<string | undefined> {
    const used = await this.#use(
      async () =>
        await this.#query
          .deleteFrom('sign_in_links')
          .where('digest', '=', digestOf(token))
          .returning(['user_id', 'expires_at_ms'])
          .executeTakeFirst()
    )
    return used === undefined || used.expires_at_ms <= Date.now() ? undefined : used.user_id
  }

  /** Ends the sign-in link of a user, if there is one. */
  async endSignIn (userId: string): Promise<void> {
    await this.#use(
      async () => await this.#query.deleteFrom('sign_in_links').where('user_id', '=', userId).execute()
    )
  }

  /**
   * Ends links that a user who could create them for others may have kept: open links of all users, and open
   * invitations.
   *
   * @param roles of these invitations
   */
  async endIssued (roles: readonly Role[]): Promise<void> {
    await this.#use(async () => await this.#query.deleteFrom('sign_in_links').execute())
    await this.#use(
      async () => await this.#query.deleteFrom('invitations').where('role', 'in', roles).execute()
    )
  }

  async createInvitation ({
    role,
    email,
    projects = [],
    invitedBy
  }: NewInvitation): Promise<{ readonly token: string, readonly invitation: Invitation }> {
    const token = newToken()
    const now = Date.now()
    const row: InvitationRow = {
      id: newId('invitation'),
      digest: digestOf(token),
      email: email?.toLowerCase() ?? null,
      role,
      projects: JSON.stringify(projects),
      invited_by: invitedBy,
      created_at_ms: now,
      expires_at_ms: now + invitationMs
    }
    await this.#use(
      async () => await this.#query.deleteFrom('invitations').where('expires_at_ms', '<=', now).execute()
    )
    await this.#use(async () => await this.#query.insertInto('invitations').values(row).execute())
    return { token, invitation: describeInvitation(row) }
  }

  async findInvitation (token: string): Promise<Invitation | undefined> {
    const row = await this.#use(
      async () =>
        await this.#query
          .selectFrom('invitations')
          .selectAll()
          .where('digest', '=', digestOf(token))
          .where('expires_at_ms', '>', Date.now())
          .executeTakeFirst()
    )
    return row && describeInvitation(row)
  }

  /**
   * Removes an accepted or withdrawn invitation.
   *
   * @returns the invitation, to only one of two simultaneous callers
   */
  async takeInvitation (
    by: { readonly token: string } | { readonly id: string }
  ): Promise<Invitation | undefined> {
    const taken = this.#query.deleteFrom('invitations').returningAll()
    const row = await this.#use(
      async () =>
        await (
          'id' in by ? taken.where('id', '=', by.id) : taken.where('digest', '=', digestOf(by.token))
        ).executeTakeFirst()
    )
    return row === undefined || row.expires_at_ms <= Date.now() ? undefined : describeInvitation(row)
  }

  /** Lists open invitations, newest first. */
  async listInvitations (page: PageRequest): Promise<PageOf<Invitation>> {
    const rows = this.#query
      .selectFrom('invitations')
      .selectAll()
      .where('expires_at_ms', '>', Date.now())
      .where(beyond(page, 'created_at_ms', 'id', 'desc'))
    const found = await this.#use(
      async () =>
        await rows
          .orderBy('created_at_ms', 'desc')
          .orderBy('id', 'desc')
          .limit(page.limit + 1)
          .execute()
    )
    return pageOf(found, page, ({ created_at_ms: ms, id }) => ({ ms, id }), describeInvitation)
  }
}

function describeInvitation ({
  id,
  email,
  role,
  projects,
  invited_by,
  created_at_ms,
  expires_at_ms
}: InvitationRow): Invitation {
  // written above
  return {
    id,
    email,
    role,
    projects: JSON.parse(projects) as string[],
    invited_by,
    created_at_ms,
    expires_at_ms
  }
}
