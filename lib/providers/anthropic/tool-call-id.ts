const legal = /^[a-zA-Z0-9_-]+$/
/** Ids we made; a caller's own id that looks like one is encoded, so that the two never meet. */
const ours = /^hg[cf]_/

/**
 * Returns the id of a tool call as the provider accepts it: the same id in every turn, and different ids
 * stay different. Legal ids go through as they are.
 */
export function toolCallIdOf (id: string): string {
  return legal.test(id) && !ours.test(id) ? id : `hgc_${Buffer.from(id).toString('base64url')}`
}

/** Returns the id of the nth deprecated function call of a conversation, which has none of its own. */
export function functionCallId (index: number): string {
  return `hgf_${index}`
}
