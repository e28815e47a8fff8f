/**
 * Credentials for requests to providers: fixed headers, or headers computed for each request. Their digests
 * identify accounts.
 */

import { createHash } from 'node:crypto'
import type { Secret } from '../core/secret.ts'

/** Headers that carry a credential; never logged. */
export type CredentialHeaders = Readonly<Record<string, string>>

export type Credential = CredentialHeaders | Signer

/** Computes the headers of each request: a signature or an expiring token. */
export interface Signer {
  /**
   * Identifies the account, such as its access key; stable while the headers change. Only a digest leaves the
   * process.
   */
  readonly accountId: string
  /**
   * Called for each attempt, before it waits for a connection. A promise has `timeouts.connect_ms` to settle.
   *
   * @throws ProviderFailure or GatewayError; callers see any other error as `upstream_unreachable`
   */
  readonly sign: (request: UnsignedRequest) => CredentialHeaders | Promise<CredentialHeaders>
}

/** A request before its credential is added. */
export interface UnsignedRequest {
  readonly method: string
  /** The complete URL: base URL, path and query. */
  readonly url: string
  /** All headers except connection headers such as `host` and `content-length`. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The complete body; `undefined` without one. */
  readonly body: Uint8Array | undefined
}

export function isSigner (credential: Credential): credential is Signer {
  return typeof credential['sign'] === 'function'
}

/** Returns the identity of a credential's account. Secret. */
export function accountIdOf (credential: Credential): string {
  return isSigner(credential) ? credential.accountId : JSON.stringify(credential)
}

/**
 * Returns the credential of a request: the caller's own key if given, else the configured one. Equal
 * arguments give the same account.
 *
 * @param credential index of the configured key. Default: the first
 */
export type Authorize = (callerKey?: string, credential?: number) => Credential

/**
 * Creates the credentials of the configured keys.
 *
 * @param create creates the credential of one key
 */
export function authorizeWith (keys: readonly Secret[], create: (key: string) => Credential): Authorize {
  const own = keys.map(key => create(key.reveal()))
  return (callerKey, index = 0) => callerKey === undefined ? own[index] ?? {} : create(callerKey)
}

/** Bounds the search: a custom provider may return a different account for each index or each call. */
const maxCredentials = 1000

/** The part of a provider that has its credentials. */
interface Authorizing {
  readonly authorize: Authorize
}

/** Returns the credential of an account: the caller's own or a configured one, if any. */
export function credentialOf (
  provider: Authorizing,
  account: string,
  callerKey?: Secret
): Credential | undefined {
  if (callerKey !== undefined && accountDigest(provider, callerKey) === account) {
    return provider.authorize(callerKey.reveal())
  }
  return configuredCredential(provider, id => digestOfAccount(id) === account)
}

/** Returns the first configured credential whose account fits, if any. */
export function configuredCredential (
  { authorize }: Authorizing,
  fits: (accountId: string) => boolean
): Credential | undefined {
  let before: string | undefined
  for (let index = 0; index < maxCredentials; index++) {
    const credential = authorize(undefined, index)
    const account = accountIdOf(credential)
    if (fits(account)) return credential
    // No further credentials: none exists, or a custom provider returns the same one for every index.
    if (Object.keys(credential).length === 0 || account === before) return undefined
    before = account
  }
  return undefined
}

/**
 * Returns a digest of the credential, which identifies an account at a provider.
 *
 * @param callerKey the caller's own key, if the call has one
 * @param credential index of the configured credential. Default: the first
 */
export function accountDigest (
  { authorize }: Authorizing,
  callerKey?: Secret,
  credential?: number
): string {
  return digestOfAccount(accountIdOf(authorize(callerKey?.reveal(), credential)))
}

function digestOfAccount (accountId: string): string {
  return createHash('sha256').update(accountId).digest('hex').slice(0, 16)
}
