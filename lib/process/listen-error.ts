import type { Address } from '../http/listen.ts'
import { CommandError } from './terminal.ts'

/**
 * Explains why an address cannot be used.
 *
 * @param advice what to do about it, as a sentence
 */
export function listenError (cause: unknown, { host, port }: Address, advice: string): CommandError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason = reasons.get(code) ?? (cause instanceof Error ? cause.message : String(cause))
  return new CommandError(`cannot listen on ${host} port ${port}: ${reason}. ${advice}`, { cause })
}

const reasons: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use'],
  ['EACCES', 'permission denied'],
  ['EADDRNOTAVAIL', 'the address is not available on this machine'],
  ['ENOTFOUND', 'unknown host']
])
