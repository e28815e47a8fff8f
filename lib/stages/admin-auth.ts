/** Authenticates calls of the admin API, by a session or an admin key, and checks their rights. */

import { adminKeyPrefix } from '../accounts/admin-keys.ts'
import { digestOf } from '../accounts/random-tokens.ts'
import { readCookie } from '../accounts/cookies.ts'
import { isAtLeast, seesAllProjects, type Principal, type PrincipalSession } from '../accounts/roles.ts'
import { provesOrigin } from '../accounts/sessions.ts'
import { copyCall, type Call } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { map, type Stage } from '../pipeline/stage.ts'
import type { Services } from '../services.ts'
import type { ServerSettings, Settings } from '../core/settings.ts'
import { clientAddress } from '../net/client-address.ts'
import { clientScheme } from '../net/client-scheme.ts'
import { isLoopback } from '../net/loopback.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import type { Role } from '../../schemas/admin/common.ts'
import type { AdminRouteSpec } from '../../schemas/admin/routes.ts'
import type { Admin } from '../accounts/admin.ts'

/**
 * A session that began with a sign-in link may set a password within this time without knowing the old one.
 */
const setPasswordMs = 60 * 60_000

/** How a request reached the gateway, as reported by the proxy where one is trusted. */
export interface Origin {
  readonly address: string
  /** True if the browser used TLS. */
  readonly secure: boolean
  /** The address of the gateway as the browser sees it, without a trailing slash. */
  readonly url: string
}

export interface AdminCall extends Call {
  readonly admin: Admin
  readonly origin: Origin
  /** Absent where no session is needed. */
  readonly principal: Principal | undefined
  /** The cookie or the key. */
  readonly credential: string
}

/** A host name or an IP address, optionally with a port. It is stored when a sign-in begins. */
const isAuthority = /^[\w.:[\]-]{1,262}$/

type NeededServices = Pick<Services, 'settings' | 'admin'>

/**
 * Authenticates a call of the admin API: one in, a copy with its principal out.
 *
 * A request with a cookie must come from the gateway's own pages, unless the route says otherwise. Browsers
 * tell where a request comes from. In addition, each request carries a token that only pages of the same
 * origin know, because cookies are also sent to other ports of the host. Browsers never add an admin key by
 * themselves, so it needs neither check.
 *
 * @throws GatewayError `invalid_api_key` without a valid session or key; `insufficient_permissions` for a
 *   request from another site, without the token, with too low a role or without the scope; `not_found` where
 *   the dashboard is off
 */
export function adminAuth (
  { settings, admin: openAdmin }: NeededServices,
  spec: AdminRouteSpec,
  method: string
): Stage<Call, AdminCall> {
  return map(async call => {
    const admin = await openAdmin?.()
    if (admin === undefined) throw new GatewayError('not_found')
    const origin = originOf(call, settings.server)
    const key = bearerOf(call)
    if (key !== undefined && spec.role !== 'none') {
      const principal = await keyPrincipal(admin, key, settings)
      if (principal === undefined) throw noSession()
      await checkRights(admin, principal, spec, settings.server)
      return copyCall(call, { admin, origin, principal, credential: key })
    }
    if (spec.fromOtherSites !== true) checkSite(call, settings.server)
    if (spec.role === 'none') return copyCall(call, { admin, origin, principal: undefined, credential: '' })
    const cookie = readCookie(call.headers, 'session', origin.secure)
    const principal = cookie === undefined ? undefined : await sessionPrincipal(admin, cookie)
    if (cookie === undefined || principal === undefined) throw noSession()
    if (!provesOrigin(principal.session.csrfDigest, call.headers['x-headgate-csrf'])) {
      throw method === 'GET' ? noSession() : noProof()
    }
    await checkRights(admin, principal, spec, settings.server)
    return copyCall(call, { admin, origin, principal, credential: cookie })
  })
}

/**
 * Returns the current principal of a call, for a long-lived answer; `undefined` once the session or the key
 * has ended or the role has become too low.
 */
export async function currentPrincipal (
  call: AdminCall,
  least: Role,
  settings: Pick<Settings, 'adminKey'>
): Promise<Principal | undefined> {
  const now = await principalNow(call, settings)
  return now !== undefined && isAtLeast(now.role, least) ? now : undefined
}

/**
 * Authorizes a call again after a wait: the caller decides how long sending the body takes, and may lose
 * rights in that time.
 *
 * @returns the call with its current principal
 * @throws GatewayError as `adminAuth` does
 */
export async function authorizedAgain (
  call: AdminCall,
  spec: AdminRouteSpec,
  settings: Pick<Settings, 'adminKey' | 'server'>
): Promise<AdminCall> {
  if (spec.role === 'none') return call
  const principal = await principalNow(call, settings)
  if (principal === undefined) throw noSession()
  await checkRights(call.admin, principal, spec, settings.server)
  return copyCall(call, { principal })
}

async function principalNow (
  { admin, principal, credential }: AdminCall,
  settings: Pick<Settings, 'adminKey'>
): Promise<Principal | undefined> {
  return principal?.session === undefined
    ? await keyPrincipal(admin, credential, settings)
    : await sessionPrincipal(admin, credential)
}

function noSession (): GatewayError {
  return new GatewayError('invalid_api_key', {
    message:
      'There is no session, or it has ended. Sign in, or send an admin key as `Authorization: Bearer hga_…`.'
  })
}

function noProof (): GatewayError {
  return new GatewayError('insufficient_permissions', {
    message: 'Send the `csrf_token` of the sign-in as `X-Headgate-CSRF`.'
  })
}

function bearerOf ({ headers: { authorization } }: Call): string | undefined {
  return typeof authorization === 'string' && /^bearer /i.test(authorization)
    ? authorization.slice('bearer '.length)
    : undefined
}

/** The principal of the key in the environment, which has all rights and never expires. */
const environmentPrincipal: Principal = {
  id: 'HEADGATE_ADMIN_KEY',
  name: 'HEADGATE_ADMIN_KEY',
  role: 'owner'
}

async function keyPrincipal (
  { accounts }: Admin,
  secret: string,
  { adminKey }: Pick<Settings, 'adminKey'>
): Promise<Principal | undefined> {
  if (adminKey !== undefined && digestOf(secret) === digestOf(adminKey.reveal())) return environmentPrincipal
  const key = secret.startsWith(adminKeyPrefix) ? await accounts.adminKeys.check(secret) : undefined
  if (key === undefined) return undefined
  const { id, name, role, scopes, expires_at_ms: expiresAtMs } = key
  return { id, name, role, ...scopes !== null && { scopes }, ...expiresAtMs !== null && { expiresAtMs } }
}

/** Outside loopback, a sign-in link alone is not enough protection. */
function noCredential (): GatewayError {
  return new GatewayError('insufficient_permissions', {
    message: 'Set a password or add a passkey first: the dashboard is reachable from other machines.'
  })
}

interface SessionPrincipal extends Principal {
  readonly session: PrincipalSession
}

async function sessionPrincipal ({ accounts }: Admin, cookie: string): Promise<SessionPrincipal | undefined> {
  const found = await accounts.sessions.find(cookie)
  if (found === undefined) return undefined
  const { session, user } = found
  await accounts.users.seen(user)
  const projects = seesAllProjects(user.role)
    ? undefined
    : ((await accounts.users.projectsOf([user.id])).get(user.id) ?? [])
  return {
    id: user.id,
    name: user.name,
    role: user.role,
    session: {
      id: session.id,
      csrfDigest: session.csrf_token,
      expiresAtMs: session.expires_at_ms,
      byLink: session.by_link === 1 && Date.now() - session.created_at_ms < setPasswordMs
    },
    ...projects !== undefined && { projects: new Set(projects) }
  }
}

/** @throws GatewayError `insufficient_permissions` for a request that a page of another site sent */
function checkSite ({ headers }: Call, { publicUrl }: ServerSettings): void {
  const { 'sec-fetch-site': site = 'same-origin', origin, host } = headers
  const isOwnOrigin =
    origin === undefined ||
    hostOf(origin) === host ||
    (publicUrl !== undefined && hostOf(origin) === hostOf(publicUrl))
  const isOwn = (site === 'same-origin' || site === 'none') && isOwnOrigin
  if (!isOwn) {
    throw new GatewayError('insufficient_permissions', { message: 'The request comes from another site.' })
  }
}

function hostOf (origin: string | string[]): string | undefined {
  return URL.canParse(String(origin)) ? new URL(String(origin)).host : undefined
}

async function checkRights (
  { accounts }: Admin,
  { id, role, scopes, session }: Principal,
  { role: least, scope, needsCredential = least !== 'self' }: AdminRouteSpec,
  { host }: Pick<ServerSettings, 'host'>
): Promise<void> {
  if (least === 'none') return
  if (least === 'self') {
    if (session === undefined) {
      throw new GatewayError('insufficient_permissions', { message: 'An admin key has no session.' })
    }
  } else if (!isAtLeast(role, least)) {
    throw new GatewayError('insufficient_permissions', { message: `This requires the role \`${least}\`.` })
  }
  if (scopes !== undefined && scope !== undefined && !scopes.includes(scope)) {
    throw new GatewayError('insufficient_permissions', {
      message: `The admin key does not have the scope \`${scope}\`.`
    })
  }
  if (
    needsCredential &&
    session !== undefined &&
    !isLoopback(host) &&
    !await accounts.users.haveCredential(id)
  ) {
    throw noCredential()
  }
}

function originOf (
  { headers, connection }: Call,
  { host, port, publicUrl, trustProxy }: ServerSettings
): Origin {
  const { 'x-forwarded-for': chain, 'x-forwarded-proto': forwarded } = headers
  const scheme = clientScheme(connection?.encrypted === true, forwarded, trustProxy)
  const named = String(headers.host ?? '')
  const authority = isAuthority.test(named) ? named : `${host}:${port}`
  return {
    address: clientAddress(connection?.address, chain, trustProxy),
    secure: scheme === 'https',
    url:
      publicUrl === undefined
        ? `${scheme}://${authority}`
        : withoutTrailingSlashes(publicUrl)
  }
}
