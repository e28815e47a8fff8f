/** Decides which user a person is whom a provider of OpenID Connect has signed in, and with which role. */

import { roleNames, type Role } from '../../schemas/admin/common.ts'
import type { OidcSettings } from '../core/settings.ts'
import type { UserRow } from '../stores/tables.ts'
import type { Accounts } from './accounts.ts'
import type { Act } from './audit-log.ts'
import type { OidcPerson } from './oidc.ts'
import { publicPart } from './users.ts'

/** Says why a person may not come in, in a word that the page has a sentence for. */
export class Refusal extends Error {
  readonly reason: 'domain_not_allowed' | 'no_role' | 'email_taken' | 'user_disabled'

  constructor (reason: Refusal['reason']) {
    super(reason)
    this.reason = reason
  }
}

/**
 * Returns the user of a person; at the first sign-in a new one, or the one with the same email if the provider has verified
 * it and knows that user as no one else. With `roles` the groups decide the role at every sign-in; the last owner stays one.
 * What that changes is in the audit log, as done by the person.
 *
 * @param address the one that they come from
 * @throws Refusal
 */
export async function admitPerson (accounts: Accounts, person: OidcPerson, settings: OidcSettings, address: string): Promise<UserRow> {
  const { users, identities, audit } = accounts
  if (!isOfDomain(person, settings)) throw new Refusal('domain_not_allowed')
  const role = roleOf(person, settings)
  if (role === undefined) throw new Refusal('no_role')
  const { issuer, subject, name, email, emailVerified } = person
  const known = await identities.find(issuer, subject)
  const user = known === undefined ? email === undefined ? undefined : await users.findByEmail(email) : await users.find(known)
  const note = async (user: UserRow, act: Act): Promise<void> => await audit.add({ id: user.id, name: user.name, address }, { ...act, subject: user })
  if (user === undefined) {
    const created = await users.create({ name, ...email !== undefined && { email }, role })
    await note(created, { action: 'user.create', after: publicPart(created) })
    await identities.add(issuer, subject, created.id)
    await note(created, { action: 'identity.add', after: { issuer, subject } })
    return created
  }
  if (user.disabled_at_ms !== null) throw new Refusal('user_disabled')
  if (known === undefined) {
    if (!(emailVerified && await identities.add(issuer, subject, user.id))) throw new Refusal('email_taken')
    await note(user, { action: 'identity.add', after: { issuer, subject } })
  }
  if (!hasRoles(settings) || user.role === role || await users.isLastOwner(user.id)) return user
  const changed = await accounts.changeUser(user, { role }) ?? user
  await note(changed, { action: 'user.update', before: publicPart(user), after: publicPart(changed) })
  return changed
}

function isOfDomain ({ email, emailVerified }: OidcPerson, { allowedDomains }: OidcSettings): boolean {
  if (allowedDomains.length === 0) return true
  const domain = email?.split('@').at(-1)?.toLowerCase()
  return emailVerified && allowedDomains.some(allowed => allowed.toLowerCase() === domain)
}

/** Returns the highest role of all groups. */
function roleOf ({ groups }: OidcPerson, settings: OidcSettings): Role | undefined {
  const own = new Set(groups.flatMap(group => Object.hasOwn(settings.roles, group) ? settings.roles[group] ?? [] : []))
  return roleNames.find(role => own.has(role)) ?? settings.defaultRole ?? (hasRoles(settings) ? undefined : 'viewer')
}

function hasRoles ({ roles }: OidcSettings): boolean {
  return Object.keys(roles).length > 0
}
