/** Parses the URL of a PostgreSQL server. */

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
  const isSaid = ['ssl', 'sslmode', 'host'].some(option => searchParams.has(option))
  return { name: `postgres://${host}${pathname}`, needsTls: !isSaid && !local.test(hostname) }
}
