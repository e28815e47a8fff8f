/** The key and the certificate of the mock's TLS port, created for each run. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { freePort } from './processes.ts'
import { scratchFolder } from './scratch-folder.ts'

export interface Tls {
  readonly port: number
  /** Files in PEM format. */
  readonly key: string
  readonly certificate: string
}

/** Absent without the command `openssl`. */
export const tls: Tls | undefined = await create()

async function create (): Promise<Tls | undefined> {
  const folder = scratchFolder('tls')
  const key = join(folder, 'key.pem')
  const certificate = join(folder, 'certificate.pem')
  const { status } = spawnSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
    '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate
  ])
  return status === 0 ? { port: await freePort(), key, certificate } : undefined
}
