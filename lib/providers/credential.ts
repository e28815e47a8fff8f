/** Credentials for requests to providers: headers that hold for every request, or are made for each. */

/** Headers that carry a credential; never logged. */
export type CredentialHeaders = Readonly<Record<string, string>>

export type Credential = CredentialHeaders | Signer

/** Makes the headers of each request: a signature of it, or a token that expires. */
export interface Signer {
  /**
   * Identifies the account, such as its access key: it stays the same while the headers change. Only a digest
   * of it leaves the process.
   */
  readonly accountId: string
  /**
   * Called for each attempt, before it waits for a connection. A promise may take as long as a connection
   * (`timeouts.connect_ms`).
   *
   * @throws ProviderFailure or GatewayError; anything else is `upstream_unreachable` to the caller
   */
  readonly sign: (request: UnsignedRequest) => CredentialHeaders | Promise<CredentialHeaders>
}

/** A request as it is sent, but for its credential. */
export interface UnsignedRequest {
  readonly method: string
  /** The complete URL: that of the provider with the path and query of the request. */
  readonly url: string
  /** All headers but those of the connection, such as `host` and `content-length`. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** All bytes of it; `undefined` without one. */
  readonly body: Uint8Array | undefined
}

export function isSigner (credential: Credential): credential is Signer {
  return typeof credential['sign'] === 'function'
}

/** Returns what identifies the account of a credential: a secret. */
export function accountIdOf (credential: Credential): string {
  return isSigner(credential) ? credential.accountId : JSON.stringify(credential)
}
