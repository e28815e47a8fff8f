/** Tool call ids that the provider accepts. */

const legal = /^[a-zA-Z0-9_-]+$/
/** Ids that we create. Callers' ids that match are encoded, so that the two never collide. */
const ours = /^hg[cf]_/

/**
 * Returns a tool call id that the provider accepts. Legal ids stay unchanged; the mapping is stable and
 * injective.
 */
export function toolCallIdOf (id: string): string {
  return legal.test(id) && !ours.test(id) ? id : `hgc_${Buffer.from(id).toString('base64url')}`
}

/** Returns the id of the nth deprecated function call of a conversation. */
export function functionCallId (index: number): string {
  return `hgf_${index}`
}

/** Makes the ids of a conversation's calls unique, as the provider requires. */
export class UniqueIds {
  readonly #times = new Map<string, number>()

  /**
   * Returns the id itself the first time, later one derived from it and the number of uses: stable in every
   * turn.
   */
  unique (id: string): string {
    const times = this.#times.get(id) ?? 0
    this.#times.set(id, times + 1)
    return times === 0 ? id : this.unique(`${id}_${times + 1}`)
  }
}
