/** Reads when certificates expire, before they do. */

import { X509Certificate } from 'node:crypto'
import { readTextFile } from './read-regular-file.ts'

export interface CertificateExpiry {
  /** The entry of the configuration: `server.tls`, `providers.openai.tls.ca`. */
  readonly certificate: string
  readonly expiresAtMs: number
}

/** A text that is not printed by accident. */
interface Secret { readonly reveal: () => string }

/** The parts of settings with certificates. */
export interface CertificateSources {
  readonly server: { readonly tls?: { readonly certificate: string } | undefined }
  readonly providers: ReadonlyArray<{
    readonly id: string
    readonly tls?: { readonly ca?: Secret | undefined, readonly cert?: Secret | undefined } | undefined
  }>
}

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Returns the expiry of each certificate in the configuration: the earliest in a chain or a list of
 * authorities. The server's certificate is read from disk each time, since another program renews it; an
 * unreadable one is left out.
 */
export function certificateExpiries ({ server, providers }: CertificateSources): CertificateExpiry[] {
  const texts = [
    ...server.tls === undefined ? [] : [['server.tls', tryReadText(server.tls.certificate)] as const],
    ...providers.flatMap(({ id, tls }) => [
      [`providers.${id}.tls.ca`, tls?.ca?.reveal()] as const,
      [`providers.${id}.tls.cert`, tls?.cert?.reveal()] as const
    ])
  ]
  return texts.flatMap(([certificate, text]) => {
    const expiresAtMs = firstEnd(text ?? '')
    return expiresAtMs === undefined ? [] : [{ certificate, expiresAtMs }]
  })
}

function tryReadText (path: string): string | undefined {
  try {
    return readTextFile(path)
  } catch {
    return undefined // the previous one stays in use, and its reload has logged why
  }
}

function firstEnd (pem: string): number | undefined {
  const ends = (pem.match(block) ?? []).flatMap(text => {
    try {
      return [Date.parse(new X509Certificate(text).validTo)]
    } catch {
      return [] // not a certificate, which a check of the configuration reports
    }
  })
  return ends.length === 0 ? undefined : Math.min(...ends)
}
