/** Checks certificates: a start fails without usable ones, and the log warns of those that expire soon. */

import { certificateExpiries, type CertificateSources } from '../net/certificates.ts'
import { CommandError } from './terminal.ts'
import type { Log } from '../log/log.ts'
import type { ServerSettings } from '../core/settings.ts'

const dayMs = 86_400_000
export const soonMs = 30 * dayMs

/** @throws CommandError for a certificate or a key of the server that cannot be used */
export async function checkTlsFiles ({ tls }: Pick<ServerSettings, 'tls'>): Promise<void> {
  if (tls === undefined) return
  const { readTlsFiles } = await import('../http/tls-files.ts')
  try {
    readTlsFiles(tls)
  } catch (cause) {
    throw new CommandError(
      `cannot serve HTTPS with server.tls: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause }
    )
  }
}

/** Logs a warning for each certificate that expires in less than 30 days, now and each day. */
export function warnOfCertificates (sources: CertificateSources, log: Log): void {
  const warn = (): void => {
    for (const { certificate, expiresAtMs } of certificateExpiries(sources)) {
      const leftMs = expiresAtMs - Date.now()
      if (leftMs > soonMs) continue
      log.warn(
        { certificate, expires_at: new Date(expiresAtMs).toISOString() },
        leftMs > 0 ? 'certificate expires soon' : 'certificate has expired'
      )
    }
  }
  warn()
  setInterval(warn, dayMs).unref()
}
