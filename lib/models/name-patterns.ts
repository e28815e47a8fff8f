/** Names with wildcards, which stand for many models. */

/** Returns true for a name with wildcards, such as `claude-*`: it stands for many names. */
export function isPattern (name: string): boolean {
  return name.includes('*')
}

/**
 * Returns a function that finds the pattern that matches a name: of several, the one with the most characters
 * besides wildcards.
 */
export function patternFinder (patterns: Iterable<string>): (name: string) => string | undefined {
  const split = [...patterns].map(pattern => ({ pattern, parts: pattern.split('*') }))
    .toSorted((a, b) => b.parts.join('').length - a.parts.join('').length)
  return name => split.find(({ parts }) => matches(parts, name))?.pattern
}

/** Each `*` stands for any number of characters. Linear in the name, which a caller wrote. */
function matches ([first = '', ...others]: readonly string[], name: string): boolean {
  const last = others.pop() ?? ''
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const part of others) {
    const found = name.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return name.length - last.length >= at && name.endsWith(last)
}
