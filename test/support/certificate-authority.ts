/** A private certificate authority with certificates for a server and a client, made by `openssl`. */

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Pair {
  readonly cert: string
  readonly key: string
}

export interface CertificateAuthority {
  readonly ca: string
  /** For `localhost`, `127.0.0.1` and the other addresses. */
  readonly server: Pair
  readonly client: Pair
}

/**
 * Creates the files in a directory.
 * @param addresses further addresses of the server
 */
export function makeAuthority (directory: string, addresses: readonly string[] = []): CertificateAuthority {
  const file = (name: string): string => join(directory, name)
  const openssl = (...args: string[]): void => { execFileSync('openssl', args, { stdio: 'ignore' }) }
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-subj',
    '/CN=private authority',
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.pem')
  )
  const names = ['DNS:localhost', ...['127.0.0.1', ...addresses].map(address => `IP:${address}`)]
  writeFileSync(file('names'), `subjectAltName=${names.join(',')}`)
  const pairOf = (name: string): Pair => {
    openssl(
      'req',
      ...newKey,
      '-subj',
      `/CN=${name}`,
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.csr`)
    )
    openssl(
      'x509',
      '-req',
      '-in',
      file(`${name}.csr`),
      '-CA',
      file('ca.pem'),
      '-CAkey',
      file('ca.key'),
      '-CAcreateserial',
      '-extfile',
      file('names'),
      '-out',
      file(`${name}.pem`)
    )
    return {
      cert: readFileSync(file(`${name}.pem`), 'utf8'),
      key: readFileSync(file(`${name}.key`), 'utf8')
    }
  }
  return { ca: readFileSync(file('ca.pem'), 'utf8'), server: pairOf('localhost'), client: pairOf('gateway') }
}
