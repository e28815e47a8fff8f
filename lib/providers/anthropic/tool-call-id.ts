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

/** Ids of the calls of one conversation, each of which the provider takes once. */
export class UniqueIds {
  readonly #times = new Map<string, number>()

  /**
   * Returns the id itself the first time; then one made of it and of how often it came: the same in every
   * turn.
   */
  unique (id: string): string {
    const times = this.#times.get(id) ?? 0
    this.#times.set(id, times + 1)
    return times === 0 ? id : this.unique(`${id}_${times + 1}`)
  }
}
