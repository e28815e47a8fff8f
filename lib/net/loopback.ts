import { isIP } from 'node:net'

/** Returns whether a host name or an address, with or without brackets, is a loopback one. */
export function isLoopback (host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}
