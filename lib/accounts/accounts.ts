/**
 * Bundles the account services of the admin API: users, sessions, links, projects, keys, the audit log.
 */

import { roleNames, type Role } from '../../schemas/admin/common.ts'
import type { Invitation } from '../../schemas/admin/organisation.ts'
import { GatewayError } from '../core/errors.ts'
import type { Database } from '../stores/database.ts'
import type { UserRow } from '../stores/tables.ts'
import { statementRunner, type UseStore } from '../stores/use-store.ts'
import { AdminKeys } from './admin-keys.ts'
import { AuditLog, gatewayActor, type Actor } from './audit-log.ts'
import { Challenges } from './challenges.ts'
import { Idempotency } from './idempotency.ts'
import { Identities } from './identities.ts'
import { KeyQuota } from './key-quota.ts'
import { Links, type NewInvitation, type NewLink } from './links.ts'
import { Passkeys } from './passkeys.ts'
import { Projects } from './projects.ts'
import { isAtLeast, type Principal } from './roles.ts'
import { Sessions } from './sessions.ts'
import { FailureQuota, Throttle } from './throttle.ts'
import { Users, type NewUser, type UserChanges } from './users.ts'

type AccountsDatabase = Pick<Database, 'query' | 'storeFileIntact' | 'lockRows' | 'transaction'>

/** What a transaction changes. */
type Parts = Pick<Accounts, 'users' | 'sessions' | 'links' | 'identities'>

export class Accounts {
  readonly users: Users
  readonly sessions: Sessions
  readonly links: Links
  readonly passkeys: Passkeys
  readonly identities: Identities
  readonly challenges: Challenges
  readonly projects: Projects
  readonly adminKeys: AdminKeys
  readonly audit: AuditLog
  readonly idempotency: Idempotency
  readonly throttle = new Throttle()
  readonly failureQuota = new FailureQuota()
  readonly keyQuota = new KeyQuota()

  readonly #database: AccountsDatabase
  readonly #use: UseStore

  constructor (database: AccountsDatabase) {
    const { query, lockRows } = database
    const use = statementRunner(database, 'Accounts')
    this.#database = database
    this.#use = use
    this.users = new Users(query, use, lockRows)
    this.sessions = new Sessions(query, use)
    this.links = new Links(query, use)
    this.passkeys = new Passkeys(query, use)
    this.identities = new Identities(query, use)
    this.challenges = new Challenges(query, use)
    this.projects = new Projects(query, use)
    this.adminKeys = new AdminKeys(query, use)
    this.audit = new AuditLog(query, use)
    this.idempotency = new Idempotency(query, use)
  }

  /** Creates a one-time link for the first owner, and the owner if there is none. */
  async createOwnerLink (actor: Actor = gatewayActor): Promise<NewLink> {
    const { users, links, audit } = this
    const owner = await users.firstOwner() ?? await users.create({ name: 'Owner', role: 'owner' })
    await audit.add(actor, { action: 'link.create', subject: owner })
    return await links.createSignIn(owner.id)
  }

  /**
   * Changes a user, and ends what the change must revoke: sign-in links after a change of role or password,
   * since someone else may have them, and sessions with a higher role or an earlier password, since such a
   * link may have started them. A disabled user loses both. When an admin or owner loses that role, links
   * they could have created for others end as well.
   *
   * @param user as read when the right to change it was checked
   * @param by who makes the change. Absent: the gateway itself
   * @returns the changed row; `undefined` for a deleted user
   * @throws GatewayError `conflict` when the email is taken, when the last owner would lose that role, or
   *   when the user's role has changed since; `insufficient_permissions` when `by` has lost theirs
   */
  async changeUser (user: UserRow, changes: UserChanges, by?: Principal): Promise<UserRow | undefined> {
    return await this.#change(by, user.id, async ({ users, links, sessions }) => {
      const changed = await users.update(user.id, changes, user.role)
      if (changed === undefined) return undefined
      const endsAll = changes.password !== undefined || changes.disabled === true
      if (endsAll || changed.role !== user.role) await links.endSignIn(user.id)
      if (endsAll || !isAtLeast(user.role, changed.role)) await sessions.endAll(user.id)
      // They may belong to projects that the user can no longer see.
      if (!isAtLeast(changed.role, user.role)) await sessions.endPlaygrounds(user.id)
      await endIssued(links, user.role, changes.disabled === true ? undefined : changed.role)
      return changed
    })
  }

  /**
   * Deletes a user, and what they may have kept.
   *
   * @returns false if the user does not exist, or has another role
   * @throws GatewayError as `changeUser` does
   */
  async removeUser ({ id, role }: UserRow, by: Principal): Promise<boolean> {
    return await this.#change(by, id, async ({ users, links, sessions }) => {
      const removed = await users.remove(id, role)
      if (!removed) return false
      await sessions.endAll(id)
      await endIssued(links, role, undefined)
      return removed
    })
  }

  /**
   * Creates a link with which a user signs in; an unused earlier one ends.
   *
   * @throws GatewayError `insufficient_permissions` when `by` has lost their role
   */
  async createSignInLink (userId: string, by: Principal): Promise<NewLink> {
    return await this.#change(by, userId, async ({ links }) => await links.createSignIn(userId))
  }

  /** @throws GatewayError `insufficient_permissions` when `by` has lost their role */
  async invite (
    invitation: Omit<NewInvitation, 'invitedBy'>,
    by: Principal
  ): Promise<{ readonly token: string, readonly invitation: Invitation }> {
    return await this.#change(
      by,
      by.id,
      async ({ links }) => await links.createInvitation({ ...invitation, invitedBy: by.name })
    )
  }

  /**
   * Creates a user from an invitation, and uses it up. If that fails, the invitation stays open.
   *
   * @param user email and projects are those of the caller, who has read the invitation
   * @returns the user and the invitation; `undefined` for an invitation that is used or expired
   * @throws GatewayError `conflict` when the email is taken
   */
  async acceptInvitation (
    token: string,
    user: Pick<NewUser, 'name' | 'email' | 'password'>
  ): Promise<{ readonly user: UserRow, readonly invitation: Invitation } | undefined> {
    return await this.#atOnce(async ({ users, links }) => {
      const invitation = await links.takeInvitation({ token })
      if (invitation === undefined) return undefined
      const { role, projects } = invitation
      return { invitation, user: await users.create({ ...user, role, projects }) }
    })
  }

  /**
   * Creates the user of a person at a provider of OpenID Connect.
   *
   * @throws GatewayError `conflict` when the email is taken, or the person has just become another user
   */
  async createPerson (user: NewUser, issuer: string, subject: string): Promise<UserRow> {
    return await this.#atOnce(async ({ users, identities }) => {
      const created = await users.create(user)
      if (!await identities.add(issuer, subject, created.id)) {
        throw new GatewayError('conflict', { message: 'You have just signed in elsewhere. Try again.' })
      }
      return created
    })
  }

  /** Ends a user's membership, and the keys of their playgrounds there. @returns false if there is none */
  async leaveProject (userId: string, projectId: string): Promise<boolean> {
    return await this.#atOnce(async ({ users, sessions }) => {
      if (!await users.leave(userId, projectId)) return false
      await sessions.endPlaygrounds(userId, projectId)
      return true
    })
  }

  /** Ends a session, and the keys of the user's playgrounds. @returns false if there is no such session */
  async endSession (userId: string, sessionId: string): Promise<boolean> {
    return await this.#atOnce(async ({ sessions }) => {
      if (!await sessions.end(userId, sessionId)) return false
      // It is unknown which session created a playground key.
      await sessions.endPlaygrounds(userId)
      return true
    })
  }

  /**
   * Makes a change in one transaction. It locks the user, the owners and the actor, and checks the role of
   * the actor again: an actor who is demoted at the same moment leaves no link or invitation behind.
   */
  async #change<T> (
    by: Principal | undefined,
    userId: string,
    work: (parts: Parts) => Promise<T>
  ): Promise<T> {
    return await this.#atOnce(async (parts, query) => {
      // in a fixed order, so that no two changes wait for each other
      const locked = await this.#database.lockRows(
        query
          .selectFrom('users')
          .select(['id', 'role', 'disabled_at_ms'])
          .where(user => user('id', 'in', [userId, by?.id ?? userId]).or('role', '=', 'owner'))
          .orderBy('id')
      ).execute()
      const keepsRole = locked.some(({ id, role, disabled_at_ms: disabledMs }) =>
        id === by?.id && disabledMs === null && isAtLeast(role, by.role))
      if (by?.session !== undefined && !keepsRole) {
        throw new GatewayError('insufficient_permissions', { message: 'Your role has just changed. Try again.' })
      }
      return await work(parts)
    })
  }

  /** Does everything in one transaction, or nothing. While the store is locked, it is repeated as a whole. */
  async #atOnce<T> (work: (parts: Parts, query: Database['query']) => Promise<T>): Promise<T> {
    const { transaction, lockRows } = this.#database
    const use: UseStore = async statement => await statement()
    return await this.#use(async () => await transaction([], async ({ query }) => await work({
      users: new Users(query, use, lockRows),
      sessions: new Sessions(query, use),
      links: new Links(query, use),
      identities: new Identities(query, use)
    }, query)))
  }
}

/**
 * Deletes links and invitations with a role that the user could grant before and no longer can.
 *
 * @param now the new role; `undefined` for a disabled or deleted user
 */
async function endIssued (links: Links, before: Role, now: Role | undefined): Promise<void> {
  const given = (by: Role | undefined): readonly Role[] =>
    by === undefined || !isAtLeast(by, 'admin') ? [] : roleNames.filter(role => isAtLeast(by, role))
  const lost = given(before).filter(role => !given(now).includes(role))
  if (lost.length > 0) await links.endIssued(lost)
}
