/** Maximum number and length of names whose results are kept: callers may send any name. */
const maxNames = 1000
const maxLength = 256

/**
 * Returns the function with up to a thousand results memoized: for results that depend on the configuration
 * alone and may be computed again.
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
