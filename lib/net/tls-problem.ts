/** Checks certificates and keys before they are used. */

import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'

/** Texts in PEM. */
export interface TlsTexts {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
}

export interface TlsProblem {
  readonly part: keyof TlsTexts
  /** The end of a sentence that begins with the name of the part. */
  readonly message: string
}

/** Returns the part that OpenSSL cannot use, with the reason; `undefined` if it can use all of them. */
export function tlsProblem ({ ca, cert, key }: TlsTexts): TlsProblem | undefined {
  // OpenSSL silently ignores authorities that are not certificates.
  if (ca !== undefined) {
    const reason = failureOf(() => new X509Certificate(ca))
    if (reason !== undefined) return { part: 'ca', message: `is not a certificate in PEM (${reason})` }
  }
  if (cert !== undefined) {
    const reason = failureOf(() => createSecureContext({ cert }))
    if (reason !== undefined) return { part: 'cert', message: `is not a certificate in PEM (${reason})` }
  }
  if (key === undefined) return undefined
  const reason = failureOf(() => createSecureContext({ key }))
  if (reason !== undefined) {
    return { part: 'key', message: `is not a private key in PEM without a passphrase (${reason})` }
  }
  const mismatch = cert === undefined ? undefined : failureOf(() => createSecureContext({ cert, key }))
  return mismatch === undefined
    ? undefined
    : { part: 'key', message: `does not belong to the certificate (${mismatch})` }
}

function failureOf (attempt: () => unknown): string | undefined {
  try {
    attempt()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
