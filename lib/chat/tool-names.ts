/**
 * Names the tools of several servers for a model.
 *
 * Every provider accepts up to 64 letters, digits, `_` and `-`, starting with a letter or `_`. A legal and
 * unique name stays. If tools, or a tool and a caller's function, share a name, the server's name is
 * prepended; if the result is too long or still not unique, it ends in a digest. The same servers always give
 * the same names, so that providers can cache prompts.
 */

import { createHash } from 'node:crypto'

export interface NamedTool<T> {
  readonly server: string
  readonly tool: string
  readonly value: T
}

const maxLength = 64

/**
 * Returns the tools by unique name.
 *
 * @param reservedNames names of the caller's own functions, which stay unchanged
 */
export function nameTools<T> (
  tools: ReadonlyArray<NamedTool<T>>,
  reservedNames: ReadonlySet<string>
): Map<string, T> {
  const plain = tools.map(({ tool }) => legal(tool))
  const counts = countOf([...plain, ...reservedNames])
  const prefixed = tools.map(({ server }, index) => {
    const name = plain[index] ?? ''
    return counts.get(name) === 1 ? name : `${label(server)}__${name}`
  })
  const prefixedCounts = countOf([...prefixed, ...reservedNames])
  const named = new Map<string, T>()
  const salts = new Map<string, number>()
  for (const [index, { server, tool, value }] of tools.entries()) {
    const name = prefixed[index] ?? ''
    const fits = name.length <= maxLength && prefixedCounts.get(name) === 1 && !named.has(name)
    named.set(
      fits
        ? name
        : digested(
            name,
            server,
            tool,
            salts,
            candidate => named.has(candidate) || reservedNames.has(candidate)
          ),
      value
    )
  }
  return named
}

/** Returns a key that identifies a tool of a server. */
export function toolKey (server: string, tool: string): string {
  return JSON.stringify([server, tool])
}

/** @param salts next salt of each tool: a server may list the same tool thousands of times */
function digested (
  name: string,
  server: string,
  tool: string,
  salts: Map<string, number>,
  isTaken: (name: string) => boolean
): string {
  const room = name.slice(0, maxLength - 9)
  const identity = toolKey(server, tool)
  for (let salt = salts.get(identity) ?? 0; ; salt++) {
    salts.set(identity, salt + 1)
    const digest = createHash('sha256').update(JSON.stringify([server, tool, salt])).digest('hex').slice(0, 8)
    if (!isTaken(`${room}_${digest}`)) return `${room}_${digest}`
  }
}

function legal (name: string): string {
  const letters = name.replace(/[^a-zA-Z0-9_-]/g, '_')
  return /^[a-zA-Z_]/.test(letters) ? letters : `_${letters}`
}

/** Returns the prefix for a server: the last part of its slug, or its host. */
function label (server: string): string {
  return legal(URL.canParse(server) ? new URL(server).hostname : (server.split('/').at(-1) ?? server)).slice(
    0,
    24
  )
}

function countOf (names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
