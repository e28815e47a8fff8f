/** Puts together what the admin API knows of people: users, sessions, links, projects, keys of the API, the audit log. */

import type { Database } from '../stores/database.ts'
import { storeUser } from '../stores/use-store.ts'
import { AdminKeys } from './admin-keys.ts'
import { AuditLog, gatewayActor, type Actor } from './audit-log.ts'
import { Challenges } from './challenges.ts'
import { Idempotency } from './idempotency.ts'
import { Identities } from './identities.ts'
import { Links, type NewLink } from './links.ts'
import { Passkeys } from './passkeys.ts'
import { Projects } from './projects.ts'
import { Sessions } from './sessions.ts'
import { Throttle } from './throttle.ts'
import { Users } from './users.ts'

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

  constructor (database: Pick<Database, 'query' | 'storeFileIntact'>) {
    const { query } = database
    const use = storeUser(database, 'Accounts')
    this.users = new Users(query, use)
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
}
