/** On whose behalf a call is made, and the call that does its work later. */

/** Labels of a call, as its caller states them. */
export interface Attribution {
  tags: readonly string[] | undefined
  endUser: string | undefined
  session: string | undefined
  metadata: Readonly<Record<string, string>> | undefined
}

/** What happens to the name of an end user before it is stored. */
interface EndUserNames {
  /** Returns the digest that replaces an end user's name; absent if names are stored as given. */
  readonly digestEndUser: ((name: string) => string) | undefined
}

/** The attribution of a call whose request has not been inspected yet: nothing is kept. */
export const unknownCaller: Attribution = {
  tags: undefined, endUser: undefined, session: undefined, metadata: undefined
}

/** On whose behalf a deferred call was made. */
export interface KeptAttribution extends Partial<Attribution> {
  /** True if `endUser` is a digest. Absent, as in earlier versions: unknown. */
  readonly hashed?: boolean | undefined
}

/** Returns the attribution of a call, for another call that does its work. */
export function attributionIn (
  { tags, endUser, session, metadata, digestEndUser }: Attribution & EndUserNames
): KeptAttribution {
  const hashed = digestEndUser !== undefined
  return { tags, endUser, session, metadata, ...endUser !== undefined && { hashed } }
}

/** The form of digests by `stores/end-user-digests`. */
const digestForm = /^[\w-]{22}$/

/**
 * Returns the end user of a call admitted earlier, for the record of the call that does its work: a digest,
 * even if names were still stored as given at that time.
 */
export function keptEndUser (
  { endUser, hashed }: KeptAttribution,
  { digestEndUser }: EndUserNames
): string | undefined {
  if (endUser === undefined || (hashed ?? digestForm.test(endUser))) return endUser
  return digestEndUser?.(endUser) ?? endUser
}
