import { createHash } from 'node:crypto'

/** Callers may use 128 characters, most providers accept 64. */
const maxLength = 64
const hashLength = 8

/** Returns a tool name that every provider accepts; long names end in a hash. */
export function shortToolName (name: string): string {
  if (name.length <= maxLength) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  return `${name.slice(0, maxLength - hashLength - 1)}_${hash}`
}
