/** What the record of a call says about its caller. */

/** Labels of a call, as its caller states them. */
export interface Attribution {
  tags: readonly string[] | undefined
  endUser: string | undefined
  session: string | undefined
  metadata: Readonly<Record<string, string>> | undefined
}

/** On whose behalf a call is made. */
export class CallerFacts implements Attribution {
  keyId: string | undefined = undefined
  keyName: string | undefined = undefined
  /** Absent for a key in the default project. */
  projectName: string | undefined = undefined
  /** The refused key, as far as it may be logged. */
  refusedKey: string | undefined = undefined
  /** Labels for finding calls and summing up cost: the key's and its project's first, then the caller's. */
  tags: readonly string[] | undefined = undefined
  /** The user of the caller's application: the name from the caller, or its digest by `digestEndUser`. */
  endUser: string | undefined = undefined
  /** Returns the digest that replaces an end user's name; absent if names are stored as given. */
  digestEndUser: ((name: string) => string) | undefined = undefined
  /** The session that the call belongs to, as the caller names it. */
  session: string | undefined = undefined
  /** Parties, other than key, project and member, toward whose budgets the call counts. */
  parties: readonly string[] | undefined = undefined
  /** The caller's metadata as strings; values that are not strings are also in `unsentMetadata`. */
  metadata: Readonly<Record<string, string>> | undefined = undefined
  /** True if values of `metadata` need not be strings. */
  acceptsAnyMetadata = false
  /** Metadata values that are not strings; they were removed from the request. */
  unsentMetadata: Readonly<Record<string, unknown>> | undefined = undefined
  /** True if the caller sent their own key for the provider, who bills them. */
  usesOwnProviderKey: boolean | undefined = undefined
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
  { tags, endUser, session, metadata, digestEndUser }: CallerFacts
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
  { digestEndUser }: CallerFacts
): string | undefined {
  if (endUser === undefined || (hashed ?? digestForm.test(endUser))) return endUser
  return digestEndUser?.(endUser) ?? endUser
}
