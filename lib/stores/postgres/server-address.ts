/** Reads the address of a PostgreSQL. */

export interface ServerAddress {
  /** Without user, password and options. */
  readonly name: string
  /** True where the connection leaves this machine, unless the address itself says how it is secured. */
  readonly needsTls: boolean
}

/** Hosts of this machine. */
const local = /^(?:|localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Returns what an address says; `undefined` for a text that is none. */
export function serverAddress (text: string): ServerAddress | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) return undefined
  const { host, hostname, pathname, searchParams } = new URL(text)
  const isSaid = ['ssl', 'sslmode', 'host'].some(option => searchParams.has(option))
  return { name: `postgres://${host}${pathname}`, needsTls: !isSaid && !local.test(hostname) }
}
