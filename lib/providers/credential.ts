/** Credentials for requests to providers: fixed headers, or headers computed for each request. */

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
