/** Parses the URL of a PostgreSQL server. */

import { readRegularFile } from '../../net/read-regular-file.ts'
import { describeError } from '../../text/describe-error.ts'

export interface ServerAddress {
  /** Without user, password and options. */
  readonly name: string
  /** True if the connection leaves this machine and the URL does not configure TLS. */
  readonly needsTls: boolean
}

/** Hosts on this machine. */
const local = /^(?:|localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Parses a URL; `undefined` if invalid. */
export function serverAddress (text: string): ServerAddress | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) return undefined
  const { host, hostname, pathname, searchParams } = new URL(text)
  const isConfigured = ['ssl', 'sslmode', 'host'].some(option => searchParams.has(option))
  return { name: `postgres://${host}${pathname}`, needsTls: !isConfigured && !local.test(hostname) }
}

/**
 * Reads the files that an address names. `pg` reads them again, but would wait for a pipe.
 *
 * @throws Error that says which of them cannot be read
 */
export function checkNamedFiles (text: string): void {
  const { searchParams } = new URL(text)
  for (const option of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = searchParams.get(option)
    if (path === null) continue
    try {
      readRegularFile(path)
    } catch (cause) {
      throw new Error(`\`${option}\` names a file that cannot be read (${describeError(cause)})`, { cause })
    }
  }
}
