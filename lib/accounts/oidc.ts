/**
 * Signs people in through a provider of OpenID Connect, with a code bound to the browser (state), to this
 * sign-in (nonce) and to this process's request (PKCE).
 *
 * @see https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowAuth
 */

import type { ClientAuth, Configuration, CustomFetch, ServerMetadata } from 'openid-client'
import { maxNameLength } from '../../schemas/admin/common.ts'
import type { OidcSettings } from '../core/settings.ts'
import { isObject } from '../json/type-guards.ts'
import { isLoopback } from '../net/loopback.ts'
import { loadUndici } from '../net/load-undici.ts'

const timeoutSeconds = 10
/** Keys and addresses of a provider change rarely. */
const keepMs = 60 * 60_000

/**
 * Limits on stored data of a person: the first from the specification, the second as for emails that people
 * set.
 */
const maxSubjectLength = 255
const maxEmailLength = 254

/** The part of a sign-in that is kept until the provider sends the browser back. */
export interface OidcSignIn {
  readonly verifier: string
  readonly nonce: string
  readonly redirectUri: string
}

/** A person as the provider describes them. */
export interface OidcPerson {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly email: string | undefined
  readonly emailVerified: boolean
  readonly groups: readonly string[]
}

/** Returns the address to send the browser to, and what to keep until the browser returns with `state`. */
export async function beginOidc (
  settings: OidcSettings,
  redirectUri: string,
  state: (kept: OidcSignIn) => Promise<string>
): Promise<URL> {
  const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier } =
    await import('openid-client')
  const configuration = await discover(settings)
  const kept: OidcSignIn = { verifier: randomPKCECodeVerifier(), nonce: randomNonce(), redirectUri }
  return buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope: settings.scopes.join(' '),
    state: await state(kept),
    nonce: kept.nonce,
    code_challenge: await calculatePKCECodeChallenge(kept.verifier),
    code_challenge_method: 'S256'
  })
}

/**
 * Exchanges the code that the browser has returned with.
 *
 * @param query of the address that the browser returned to
 * @throws Error of `openid-client` for an answer that is an error or belongs to another sign-in
 */
export async function finishOidc (
  settings: OidcSettings,
  { verifier, nonce, redirectUri }: OidcSignIn,
  query: string,
  state: string
): Promise<OidcPerson> {
  const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client')
  const configuration = await discover(settings)
  const tokens = await authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), {
    pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: state, idTokenExpected: true
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new Error('the provider sent no id token')
  const isComplete = claims['email'] !== undefined && claims[settings.groupsClaim] !== undefined
  // Many providers keep the id token small.
  const isAskable = !isComplete && configuration.serverMetadata().userinfo_endpoint !== undefined
  const more = isAskable ? await fetchUserInfo(configuration, tokens.access_token, claims.sub) : {}
  return personOf({ ...more, ...claims }, settings)
}

const known = new WeakMap<
  OidcSettings,
  { readonly configuration: Promise<Configuration>, readonly untilMs: number }
>()

async function discover (settings: OidcSettings): Promise<Configuration> {
  const found = known.get(settings)
  if (found !== undefined && found.untilMs > Date.now()) return await found.configuration
  const configuration = load(settings)
  known.set(settings, { configuration, untilMs: Date.now() + keepMs })
  configuration.catch(() => known.delete(settings))
  return await configuration
}

async function load ({ issuer, clientId, clientSecret }: OidcSettings): Promise<Configuration> {
  const { allowInsecureRequests, ClientSecretBasic, ClientSecretPost, customFetch, discovery, None } =
    await import('openid-client')
  const server = new URL(issuer)
  const secretAuth = (secret: string): ClientAuth => {
    const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)]
    return (provider, ...request) => (acceptsBasic(provider) ? basic : post)(provider, ...request)
  }
  return await discovery(
    server,
    clientId,
    undefined,
    clientSecret === undefined ? None() : secretAuth(clientSecret.reveal()),
    {
      timeout: timeoutSeconds,
      [customFetch]: fetchFromOidc,
      // Tokens are sent in cleartext only to a provider on this machine.
      ...server.protocol === 'http:' && isLoopback(server.hostname) && { execute: [allowInsecureRequests] }
    }
  )
}

/** Returns whether a provider takes the secret of a client in a header: unless it names other ways only. */
function acceptsBasic ({ token_endpoint_auth_methods_supported: methods }: ServerMetadata): boolean {
  return methods?.includes('client_secret_basic') !== false || !methods.includes('client_secret_post')
}

/**
 * Fetches with the package's own client: a timer of a closed connection in Node.js 20's fetch can end the
 * process.
 */
const fetchFromOidc: CustomFetch = async (url, { body, ...options }) => {
  return await loadUndici().fetch(url, { ...options, ...body !== null && body !== undefined && { body } })
}

function personOf (claims: Readonly<Record<string, unknown>>, settings: OidcSettings): OidcPerson {
  const text = (name: string): string | undefined =>
    typeof claims[name] === 'string' && claims[name] !== '' ? claims[name] : undefined
  const email = text('email')
  const subject = text('sub') ?? ''
  if (subject.length > maxSubjectLength) throw new Error('the provider sent a subject that is too long')
  return {
    issuer: text('iss') ?? '',
    subject,
    name: (text('name') ?? text('preferred_username') ?? email ?? 'User').slice(0, maxNameLength),
    email: email !== undefined && email.length <= maxEmailLength ? email : undefined,
    // Some providers print the value as text.
    emailVerified: claims['email_verified'] === true || claims['email_verified'] === 'true',
    groups: groupsOf(claims, settings)
  }
}

/**
 * Returns the groups of a person. Some providers send a single one without a list.
 *
 * @throws Error if groups decide the role and the provider keeps them elsewhere, as Microsoft Entra does for
 *   people with many: without groups, an admin would become what everybody is
 */
function groupsOf (
  claims: Readonly<Record<string, unknown>>,
  { groupsClaim, roles }: OidcSettings
): readonly string[] {
  const { [groupsClaim]: groups, _claim_names: elsewhere } = claims
  if (
    groups === undefined &&
    isObject(elsewhere) &&
    Object.hasOwn(elsewhere, groupsClaim) &&
    Object.keys(roles).length > 0
  ) {
    throw new Error('the provider did not include the groups in the token; configure it to send only the groups assigned to this client')
  }
  return (Array.isArray(groups) ? groups : [groups]).filter(group => typeof group === 'string')
}
