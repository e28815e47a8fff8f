/** Names whose results are kept, and the length of the longest: callers may write any. */
const maxNames = 1000
const maxLength = 256

/**
 * Returns the function with up to a thousand results memoized: for what the configuration alone changes, and
 * what may be made anew.
 */
export function memoized<T extends object | undefined> (find: (name: string) => T): (name: string) => T {
  const results = new Map<string, { readonly found: T }>()
  return name => {
    const cached = results.get(name)
    if (cached !== undefined) return cached.found
    const found = find(name)
    if (results.size >= maxNames) results.clear()
    if (name.length <= maxLength) results.set(name, { found })
    return found
  }
}
