import { createHash } from 'node:crypto'

/** The longest id of a call that the API takes. */
const maxLength = 64

/**
 * Returns the id of a call as it is sent: a longer one, made by another provider, becomes a digest of itself.
 */
export function toolCallIdOf (id: string): string {
  return id.length <= maxLength ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}
