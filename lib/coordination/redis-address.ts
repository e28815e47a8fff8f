/**
 * Reads the address of Redis, which may name several hosts: Sentinels, or nodes of a cluster.
 *
 * ```
 * rediss://user:password@one.internal:6379,two.internal:6379/0?sslrootcert=/etc/headgate/ca.pem
 * ```
 */

export interface RedisHost {
  readonly host: string
  readonly port: number
}

export interface RedisAddress {
  readonly hosts: readonly [RedisHost, ...RedisHost[]]
  readonly username: string | undefined
  readonly password: string | undefined
  readonly database: number
  readonly isSecure: boolean
  /** File of the authority that signed the certificates. Default: the authorities that Node.js trusts. */
  readonly authorityFile: string | undefined
}

const form =
  /^(?<scheme>rediss?):\/\/(?:(?<username>[^:@/?]*)(?::(?<password>[^@/?]*))?@)?(?<hosts>[^@/?]+)(?:\/(?<database>\d*))?(?:\?sslrootcert=(?<authority>[^&]+))?$/

/** Parses an address; `undefined` if it is not one of Redis. */
export function parseRedisAddress (text: string, defaultPort = 6379): RedisAddress | undefined {
  const { scheme, username, password, hosts = '', database, authority } = form.exec(text)?.groups ?? {}
  const [first, ...others] = hosts.split(',').map(host => parseHost(host, defaultPort))
  if (first === undefined || others.includes(undefined)) return undefined
  try {
    return {
      hosts: [first, ...others.filter(host => host !== undefined)],
      username: decoded(username),
      password: decoded(password),
      database: Number(database ?? 0),
      isSecure: scheme === 'rediss',
      authorityFile: decoded(authority)
    }
  } catch {
    return undefined // a password with a bare percent sign
  }
}

function parseHost (text: string, defaultPort: number): RedisHost | undefined {
  if (!URL.canParse(`redis://${text}`)) return undefined
  const { hostname, port } = new URL(`redis://${text}`)
  return hostname === ''
    ? undefined
    : { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) }
}

/** @throws URIError for invalid percent-encoding */
function decoded (text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decodeURIComponent(text)
}
