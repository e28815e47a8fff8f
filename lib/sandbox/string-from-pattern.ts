/**
 * Makes a short string that matches a regular expression, for the expressions people put into schemas:
 * literals, classes, groups, alternatives and quantifiers.
 */

// Enough for any sensible pattern, and a bound on senseless ones.
const longest = 10_000
const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))

/**
 * @param stretch further repetitions wherever the expression allows any number
 * @returns `undefined` for an expression with look-around, back references or the like
 */
export function stringFromPattern (pattern: string, stretch = 0): string | undefined {
  const reader = new PatternReader(pattern, stretch)
  try {
    return reader.read()
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}

class Unsupported extends Error {}

/** Reads an expression from left to right and writes the least it asks for. */
class PatternReader {
  readonly #pattern: string
  readonly #stretch: number
  #at = 0

  constructor (pattern: string, stretch: number) {
    this.#pattern = pattern
    this.#stretch = stretch
  }

  read (): string {
    const text = this.#alternatives()
    if (this.#at < this.#pattern.length) throw new Unsupported()
    return text
  }

  /** Reads alternatives; the first one counts; the others are only read over. */
  #alternatives (): string {
    const text = this.#sequence()
    while (this.#take('|')) this.#sequence()
    return text
  }

  #sequence (): string {
    let text = ''
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#peek())) {
      text += this.#repeated(this.#atom())
      if (text.length > longest) throw new Unsupported()
    }
    return text
  }

  #atom (): string {
    const char = this.#next()
    if (char === '^' || char === '$') return ''
    if (char === '.') return 'a'
    if (char === '\\') return this.#escape()[0] ?? ''
    if (char === '[') return this.#class()
    if (char === '(') return this.#group()
    if ('*+?{'.includes(char)) throw new Unsupported()
    return char
  }

  #group (): string {
    if (this.#take('?') && !this.#take(':')) {
      if (!/^<[A-Za-z]\w*>/.test(this.#pattern.slice(this.#at))) throw new Unsupported()
      this.#at = this.#pattern.indexOf('>', this.#at) + 1
    }
    const text = this.#alternatives()
    if (!this.#take(')')) throw new Unsupported()
    return text
  }

  #class (): string {
    const negated = this.#take('^')
    const members: string[] = []
    while (!this.#take(']')) {
      const from = this.#member()
      const [first = ''] = from
      if (from.length === 1 && this.#peek() === '-' && this.#pattern[this.#at + 1] !== ']') {
        this.#at++
        const [last = ''] = this.#member()
        members.push(...printable.filter(char => char >= first && char <= last), first)
      } else {
        members.push(...from)
      }
    }
    const char = negated ? printable.toReversed().find(char => !members.includes(char)) : members[0]
    if (char === undefined) throw new Unsupported()
    return char
  }

  #member (): string[] {
    const char = this.#next()
    return char === '\\' ? this.#escape() : [char]
  }

  /** Returns the characters an escape stands for. */
  #escape (): string[] {
    const char = this.#next()
    if (char === 'd') return printable.filter(char => /\d/.test(char))
    if (char === 'w') return printable.filter(char => /\w/.test(char)).toReversed()
    if (char === 's') return [' ']
    if (char === 'D' || char === 'S') return printable.filter(char => /[a-z]/.test(char))
    if (char === 'W') return ['-']
    if (char === 't') return ['\t']
    if (char === 'n') return ['\n']
    if (/\w/.test(char)) throw new Unsupported()
    return [char]
  }

  #repeated (atom: string): string {
    let least = 1
    let open = false
    const braces = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.#pattern.slice(this.#at, this.#at + 24))
    if (braces !== null) {
      least = Number(braces[1])
      open = braces[2] !== undefined && (braces[3] === '' || Number(braces[3]) >= least + this.#stretch)
      this.#at += braces[0].length
    } else if (this.#take('*')) {
      least = 0
      open = true
    } else if (this.#take('+')) {
      open = true
    } else if (this.#take('?')) {
      least = 0
    }
    this.#take('?')
    const count = least + (open ? this.#stretch : 0)
    if (atom.length * count > longest) throw new Unsupported()
    return atom.repeat(count)
  }

  #peek (): string {
    return this.#pattern[this.#at] ?? ''
  }

  #next (): string {
    const char = this.#pattern[this.#at++]
    if (char === undefined) throw new Unsupported()
    return char
  }

  #take (char: string): boolean {
    const taken = this.#pattern[this.#at] === char
    if (taken) this.#at++
    return taken
  }
}
