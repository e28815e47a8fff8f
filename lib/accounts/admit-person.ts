/** Decides which user a person signed in by OpenID Connect is, and with which role. */

import { roleNames, type Role } from '../../schemas/admin/common.ts'
import type { OidcSettings } from '../core/settings.ts'
import type { UserRow } from '../stores/tables.ts'
import type { Accounts } from './accounts.ts'
import type { Act } from './audit-log.ts'
import type { OidcPerson } from './oidc.ts'
import { publicPart } from './users.ts'

/** Refuses a person, with a code for which the page has a sentence. */
export class SignInRefusal extends Error {
  readonly reason: 'domain_not_allowed' | 'no_role' | 'email_taken' | 'user_disabled'

  constructor (reason: SignInRefusal['reason']) {
    super(reason)
    this.reason = reason
  }
}

/**
 * Returns the user of a person. At the first sign-in this is a new user, or the one with the same email if
 * the provider has verified the email, nobody else has set it for that user, and the provider knows that user
 * as no one else. With `roles`, groups decide the role at every sign-in, but the last owner stays one. The
 * audit log shows changes as made by the person.
 *
 * @param address the person's network address
 * @throws SignInRefusal
 */
export async function admitPerson (
  accounts: Accounts,
  person: OidcPerson,
  settings: OidcSettings,
  address: string
): Promise<UserRow> {
  const { users, identities, audit } = accounts
  if (!isOfDomain(person, settings)) throw new SignInRefusal('domain_not_allowed')
  const role = roleOf(person, settings)
  if (role === undefined) throw new SignInRefusal('no_role')
  const { issuer, subject, name, email } = person
  const note = async (user: UserRow, act: Act): Promise<void> =>
    await audit.add({ id: user.id, name: user.name, address }, { ...act, subject: user })
  const known = await identities.find(issuer, subject)
  const found =
    known === undefined
      ? email === undefined
        ? undefined
        : await users.findByEmail(email)
      : await users.find(known)
  if (found === undefined) {
    const created = await accounts.createPerson({ name, email, role }, issuer, subject)
    await note(created, { action: 'user.create', after: publicPart(created) })
    await note(created, { action: 'identity.add', after: { issuer, subject } })
    return created
  }
  if (found.disabled_at_ms !== null) throw new SignInRefusal('user_disabled')
  const user = known === undefined ? await link(accounts, person, found, note) : found
  if (!hasRoles(settings) || user.role === role || await users.isLastOwner(user.id)) return user
  const changed = await accounts.changeUser(user, { role }) ?? user
  await note(changed, { action: 'user.update', before: publicPart(user), after: publicPart(changed) })
  return changed
}

/**
 * Links an existing user to the person with the same email, after ending every other way to sign in as that
 * user. The person has proved the email; whoever set it before has not, as users may set an email that is not
 * theirs.
 *
 * @throws SignInRefusal for an email that is not verified or that someone else has set, and for a user linked
 *   to another person
 */
async function link (
  accounts: Accounts,
  { issuer, subject, emailVerified }: OidcPerson,
  user: UserRow,
  note: (user: UserRow, act: Act) => Promise<void>
): Promise<UserRow> {
  const { identities, passkeys, sessions } = accounts
  if (!emailVerified || user.email_by_other === 1 || (await identities.has(issuer, user.id))) {
    throw new SignInRefusal('email_taken')
  }
  // first, so that no request of theirs adds a passkey or a password after the others were removed
  await sessions.endAll(user.id)
  const removed = await passkeys.removeAll(user.id)
  const changed = await accounts.changeUser(user, { password: null }) ?? user
  if (!await identities.add(issuer, subject, user.id)) throw new SignInRefusal('email_taken')
  const before = { has_password: user.password !== null, passkeys: removed }
  await note(user, {
    action: 'identity.add',
    before,
    after: { issuer, subject, has_password: false, passkeys: 0 }
  })
  return changed
}

function isOfDomain ({ email, emailVerified }: OidcPerson, { allowedDomains }: OidcSettings): boolean {
  if (allowedDomains.length === 0) return true
  const domain = email?.split('@').at(-1)?.toLowerCase()
  return emailVerified && allowedDomains.some(allowed => allowed.toLowerCase() === domain)
}

/** Returns the highest role of all groups. */
function roleOf ({ groups }: OidcPerson, settings: OidcSettings): Role | undefined {
  const own = new Set(
    groups.flatMap(group => (Object.hasOwn(settings.roles, group) ? (settings.roles[group] ?? []) : []))
  )
  return (
    roleNames.find(role => own.has(role)) ??
    settings.defaultRole ??
    (hasRoles(settings) ? undefined : 'viewer')
  )
}

function hasRoles ({ roles }: OidcSettings): boolean {
  return Object.keys(roles).length > 0
}
