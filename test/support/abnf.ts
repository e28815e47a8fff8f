/**
 * Turns a grammar from the documentation into a regular expression, so that tests check what is documented.
 */

/**
 * Returns an expression for a rule of a grammar, anchored at both ends.
 * @param grammar rules of ABNF that use literals, names, `/`, `( )` and `*( )`; a rule must not refer to
 *   itself
 * @param terminals expressions for names without a rule @see https://www.rfc-editor.org/rfc/rfc5234
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
