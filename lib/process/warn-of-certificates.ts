/** Warns in the log of certificates that expire soon. */

import { certificateExpiries, type CertificateSources } from '../net/certificates.ts'
import type { Log } from '../log/log.ts'

const dayMs = 86_400_000
export const soonMs = 30 * dayMs

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
