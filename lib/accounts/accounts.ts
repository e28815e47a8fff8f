/**
 * Puts together what the admin API knows of people: users, sessions, links, projects, keys of the API, the
 * audit log.
 */

import { roleNames, type Role } from '../../schemas/admin/common.ts'
import type { Database } from '../stores/database.ts'
import type { UserRow } from '../stores/tables.ts'
import { storeUser } from '../stores/use-store.ts'
import { AdminKeys } from './admin-keys.ts'
import { AuditLog, gatewayActor, type Actor } from './audit-log.ts'
import { Challenges } from './challenges.ts'
import { Idempotency } from './idempotency.ts'
import { Identities } from './identities.ts'
import { Links, type NewLink } from './links.ts'
import { Passkeys } from './passkeys.ts'
import { Projects } from './projects.ts'
import { isAtLeast } from './roles.ts'
import { Sessions } from './sessions.ts'
import { FailureQuota } from './failure-quota.ts'
import { Throttle } from './throttle.ts'
import { Users, type UserChanges } from './users.ts'

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

  constructor (database: Pick<Database, 'query' | 'storeFileIntact' | 'lockRows'>) {
    const { query, lockRows } = database
    const use = storeUser(database, 'Accounts')
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

  /** Makes a one-time link for the first owner, and the owner where there is none. */
  async createOwnerLink (actor: Actor = gatewayActor): Promise<NewLink> {
    const { users, links, audit } = this
    const owner = await users.firstOwner() ?? await users.create({ name: 'Owner', role: 'owner' })
    await audit.add(actor, { action: 'link.create', subject: owner })
    return await links.createSignIn(owner.id)
  }

  /**
   * Changes a user, and ends what must not outlive that: a link with another role or password, which someone
   * else may have, and sessions with a higher role or another password, as such a link may have begun them. A
   * user who is disabled has neither. Of an admin or owner who is that no more, so does what they could make
   * for others and may have kept.
   *
   * @param user as they were when it was checked that they may be changed
   * @returns the row as it is now; `undefined` for a user who is gone
   * @throws GatewayError `conflict` when the email is taken, for the last owner losing that role, and when
   *   their role is another one by now
   */
  async changeUser (user: UserRow, changes: UserChanges): Promise<UserRow | undefined> {
    const { users, links, sessions } = this
    const changed = await users.update(user.id, changes, user.role)
    if (changed === undefined) return undefined
    const endsAll = changes.password !== undefined || changes.disabled === true
    if (endsAll || changed.role !== user.role) await links.endSignIn(user.id)
    if (endsAll || !isAtLeast(user.role, changed.role)) await sessions.endAll(user.id)
    await this.#endIssued(user.role, changes.disabled === true ? undefined : changed.role)
    return changed
  }

  /** Deletes a user, and what they may have kept. @returns false for one who is gone, or has another role */
  async removeUser ({ id, role }: UserRow): Promise<boolean> {
    const removed = await this.users.remove(id, role)
    if (removed) await this.#endIssued(role, undefined)
    return removed
  }

  /** @param now the role that someone has instead. Default: none */
  async #endIssued (before: Role, now: Role | undefined): Promise<void> {
    const given = (by: Role | undefined): readonly Role[] =>
      by === undefined || !isAtLeast(by, 'admin') ? [] : roleNames.filter(role => isAtLeast(by, role))
    const lost = given(before).filter(role => !given(now).includes(role))
    if (lost.length > 0) await this.links.endIssued(lost)
  }
}
