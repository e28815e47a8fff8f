/** Limits the connections of callers by the number of files and sockets that the process may open. */

import { readFileSync } from 'node:fs'
import type { ServerSettings } from '../core/settings.ts'

export interface OpenFiles {
  /** Absent where the system has no limit. */
  readonly limit?: number
  /** Each connection of a caller may need another one to a provider. */
  readonly wanted: number
  readonly low: boolean
  /** Maximum connections of callers: with more, none would be left for providers. */
  readonly connections: number
}

/** Reserved for files of the store, journals and the process itself. */
const ownFiles = 64

/** Reads the limit, which Node.js has already raised to the allowed maximum. */
export function openFiles (
  { maxClientConnections }: Pick<ServerSettings, 'maxClientConnections'>,
  path = '/proc/self/limits'
): OpenFiles {
  const limit = readLimit(path)
  const possible = limit === undefined ? Infinity : Math.max(1, Math.floor((limit - ownFiles) / 2))
  const wanted = 2 * maxClientConnections
  return {
    ...limit !== undefined && { limit },
    wanted,
    low: limit !== undefined && limit < wanted,
    connections: Math.min(maxClientConnections, possible)
  }
}

function readLimit (path: string): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(readFileSync(path, 'utf8')) ?? []
    return soft === undefined || soft === 'unlimited' ? undefined : Number(soft)
  } catch {
    return undefined // not Linux
  }
}
