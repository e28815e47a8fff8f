import { createHash } from 'node:crypto'

/** Callers may use 128 characters, most providers take 64. */
const maxLength = 64
const hashLength = 8

/** Returns the name of a tool as every provider takes it: long ones end with a hash instead. */
export function shortToolName (name: string): string {
  if (name.length <= maxLength) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  return `${name.slice(0, maxLength - hashLength - 1)}_${hash}`
}
