import { createHash } from 'node:crypto'

/** Maximum length of a call id. */
const maxLength = 64

/**
 * Returns the id of a call as sent: an id from another provider that is too long is replaced by its digest.
 */
export function toolCallIdOf (id: string): string {
  return id.length <= maxLength ? id : `call_${createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}
