/**
 * Makes a regular expression of a grammar in the documentation, so that what is documented is what is tested.
 */

/**
 * Returns the expression that matches a rule of a grammar from beginning to end.
 *
 * @param grammar rules of ABNF that use literals, names, `/`, `( )` and `*( )`; a rule must not refer to
 *   itself
 * @param terminals expressions for the names that have no rule
 * @see https://www.rfc-editor.org/rfc/rfc5234
 */
export function grammarOf (
  grammar: string,
  rule: string,
  terminals: Readonly<Record<string, string>>
): RegExp {
  const rules = rulesOf(grammar)
  const sourceOf = (name: string): string => {
    const elements = rules.get(name)
    if (elements === undefined) {
      const terminal = terminals[name]
      if (terminal === undefined) throw new Error(`the grammar has no ${name}`)
      return `(?:${terminal})`
    }
    const ends: string[] = []
    return `(?:${elements.map(element => {
      if (element.startsWith('"')) return element.slice(1, -1).replace(/[^\w ]/g, '\\$&')
      if (element === '/') return '|'
      if (element === ')') return ends.pop() ?? ''
      if (!element.endsWith('(')) return sourceOf(element)
      ends.push(element === '*(' ? ')*' : ')')
      return '(?:'
    }).join('')})`
  }
  return new RegExp(`^${sourceOf(rule)}$`)
}

function rulesOf (grammar: string): ReadonlyMap<string, string[]> {
  const rules = new Map<string, string[]>()
  let elements: string[] = []
  for (const line of grammar.split('\n')) {
    const [, name, rest = line] = /^([a-z-]+) *= (.*)$/.exec(line) ?? []
    if (name !== undefined) rules.set(name, elements = [])
    for (const [element] of rest.matchAll(/"[^"]*"|[a-z-]+|\*?\(|\)|\/|;.*/g)) {
      if (!element.startsWith(';')) elements.push(element)
    }
  }
  return rules
}
