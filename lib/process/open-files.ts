/** Compares how many files and sockets a process may have open with what its settings may need. */

import { readFileSync } from 'node:fs'
import type { ServerSettings } from '../core/settings.ts'

export interface OpenFiles {
  /** Absent where the system does not say. */
  readonly limit?: number
  /** For each connection of a caller, another to a provider. */
  readonly wanted: number
  readonly low: boolean
}

/** Reads the limit, which Node.js has raised to what the system allows. */
export function openFiles ({ maxClientConnections }: Pick<ServerSettings, 'maxClientConnections'>, path = '/proc/self/limits'): OpenFiles {
  const limit = readLimit(path)
  const wanted = 2 * maxClientConnections
  return { ...limit !== undefined && { limit }, wanted, low: limit !== undefined && limit < wanted }
}

function readLimit (path: string): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync(path, 'utf8')) ?? []
    return soft === undefined || soft === 'unlimited' ? undefined : Number(soft)
  } catch {
    return undefined // not Linux
  }
}
