/** Certificates of a private authority, made by `openssl`. */

import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The reason why tests with a certificate are skipped; false if they run. */
export const noOpenSsl = spawnSync('openssl', ['version']).status !== 0 && 'openssl is not installed'

export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
}

/** Writes a new certificate for `localhost` and `127.0.0.1` into a directory, replacing the previous one. */
export function makeCertificate (directory: string, name = 'localhost'): CertificateFiles {
  const [certificate, key] = [join(directory, 'certificate.pem'), join(directory, 'key.pem')]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-subj',
      `/CN=${name}`,
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      certificate
    ],
    { stdio: 'ignore' }
  )
  return { certificate, key }
}

/** Writes a certificate that is valid for so many days from now, and returns its text. */
export function certificateFor (path: string, days: number): string {
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-subj',
      '/CN=localhost',
      '-days',
      String(days),
      '-keyout',
      `${path}.key`,
      '-out',
      path
    ],
    { stdio: 'ignore' }
  )
  return readFileSync(path, 'latin1')
}
