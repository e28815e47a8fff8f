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
  return name => split.find(({ parts }) => wildcardsOf(parts, name) !== undefined)?.pattern
}

/** Returns what each `*` of a pattern stands for in a name; `undefined` for a name that it does not match. */
export function wildcardsIn (pattern: string, name: string): readonly string[] | undefined {
  return wildcardsOf(pattern.split('*'), name)
}

/**
 * Returns the name that a pattern's target stands for: `openai/gpt-x` for `my-*`, `openai/gpt-*` and `my-x`.
 * A name that has the form of the target already, as `openai/x` has for `*` and `openai/*`, is returned as it
 * is.
 */
export function fillPattern (pattern: string, target: string, name: string): string {
  if (wildcardsIn(pattern, target) !== undefined && wildcardsIn(target, name) !== undefined) return name
  const found = wildcardsIn(pattern, name) ?? []
  return target.split('*').reduce((text, part, index) => text + (found[index - 1] ?? '') + part)
}

/** Each `*` stands for any number of characters. Linear in the name, which a caller wrote. */
function wildcardsOf ([first = '', ...others]: readonly string[], name: string): string[] | undefined {
  const last = others.pop()
  if (last === undefined) return name === first ? [] : undefined
  if (!name.startsWith(first)) return undefined
  const wildcards: string[] = []
  let at = first.length
  for (const part of others) {
    const found = name.indexOf(part, at)
    if (found === -1) return undefined
    wildcards.push(name.slice(at, found))
    at = found + part.length
  }
  const end = name.length - last.length
  return end >= at && name.endsWith(last) ? [...wildcards, name.slice(at, end)] : undefined
}
