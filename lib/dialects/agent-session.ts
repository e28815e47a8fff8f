/** Returns a plain id, so that no caller writes more than that into the log. */
const plainId = /^[\w-]{8,64}$/
/** A session within the JSON, or the text, by which Claude Code names its user. */
const inUser = /session_(?:id"\s*:\s*")?([\w-]{8,64})/

/**
 * Returns the session of an agent that a call belongs to.
 *
 * @param header that the agent names it in
 * @param userId where the agent may name it as well
 */
export function sessionIn (header: string | string[] | undefined, userId = ''): string | undefined {
  if (typeof header === 'string' && plainId.test(header)) return header
  return inUser.exec(userId)?.[1]
}
