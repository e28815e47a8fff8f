/**
 * Parses the regular expressions that `LinearPattern` can search for in linear time. It is the only parser of
 * patterns: the sandbox also uses it, to generate strings for the patterns of schemas.
 *
 * Syntax means the same as in JavaScript: characters, `.`, classes, `\d \w \s \b`, `^` and `$` of the entire
 * text, groups, `|`, `* + ? {2,4}`. `(?i)` at the beginning ignores the case of ASCII letters. Patterns that
 * need backtracking are refused.
 */

/** UTF-16 codes from one to another, both included. */
export type CodeRange = readonly [from: number, to: number]
export type Position = 'start' | 'end' | 'word_boundary' | 'no_word_boundary'

export type PatternNode =
  | { readonly type: 'code', readonly ranges: readonly CodeRange[] }
  | { readonly type: 'position', readonly position: Position }
  | { readonly type: 'sequence', readonly parts: readonly PatternNode[] }
  | { readonly type: 'choice', readonly options: readonly PatternNode[] }
  | RepeatNode

export interface RepeatNode {
  readonly type: 'repeat'
  readonly part: PatternNode
  readonly min: number
  readonly max: number
  /** True if it matches as few as possible: `+?`. */
  readonly isLazy: boolean
  /** The position of its quantifier in the source, without the `?` of a lazy one. */
  readonly start: number
  readonly end: number
}

/** Describes what is wrong with a pattern: `has a lookaround, …`. */
export class PatternError extends Error {}

/** @throws PatternError */
export function parsePattern (source: string): PatternNode {
  const ignoresCase = source.startsWith('(?i)')
  const parser = new PatternParser(source, ignoresCase)
  return parser.parse(ignoresCase ? '(?i)'.length : 0)
}

const lastCode = 0xffff
/**
 * Maximum nesting. Each level takes several calls of the parser and of later readers; without a limit, a
 * caller's pattern could exhaust the stack.
 */
const maxGroups = 100
const digits: readonly CodeRange[] = [[0x30, 0x39]]
const wordCodes: readonly CodeRange[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a]
]
const spaces: readonly CodeRange[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff]
]
const lineEnds: readonly CodeRange[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029]
]
const classes: Readonly<Record<string, readonly CodeRange[]>> = {
  d: digits,
  D: inverted(digits),
  w: wordCodes,
  W: inverted(wordCodes),
  s: spaces,
  S: inverted(spaces)
}
const controls: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d }

export function isWordCode (code: number): boolean {
  return wordCodes.some(([from, to]) => code >= from && code <= to)
}

class PatternParser {
  readonly #source: string
  readonly #ignoresCase: boolean
  #at = 0
  #openGroups = 0

  constructor (source: string, ignoresCase: boolean) {
    this.#source = source
    this.#ignoresCase = ignoresCase
  }

  parse (from: number): PatternNode {
    this.#at = from
    const node = this.#choice()
    if (this.#at < this.#source.length) throw new PatternError('has a `)` without a `(`')
    return node
  }

  #choice (): PatternNode {
    const options = [this.#sequence()]
    while (this.#takes('|')) options.push(this.#sequence())
    const [only] = options
    return options.length === 1 && only !== undefined ? only : { type: 'choice', options }
  }

  #sequence (): PatternNode {
    const parts: PatternNode[] = []
    while (this.#at < this.#source.length && this.#next !== '|' && this.#next !== ')') {
      parts.push(this.#repeated(this.#single()))
    }
    return { type: 'sequence', parts }
  }

  #repeated (part: PatternNode): PatternNode {
    const [text, min, most] =
      /^(?:[*+?]|\{(\d{1,4})(,\d{0,4})?\})/.exec(this.#source.slice(this.#at, this.#at + 12)) ?? []
    if (text === undefined) return part
    if (part.type === 'position') throw new PatternError(`repeats a position with \`${text}\``)
    const start = this.#at
    const end = this.#at += text.length
    const isLazy = this.#takes('?')
    const [from, to] =
      text === '*'
        ? [0, Infinity]
        : text === '+'
          ? [1, Infinity]
          : text === '?'
            ? [0, 1]
            : boundsOf(Number(min), most)
    if (from > to) throw new PatternError(`has \`${text}\`, whose numbers are out of order`)
    if (/^[*+?{]/.test(this.#next ?? '')) throw new PatternError('repeats a quantifier (such as `a**`)')
    return { type: 'repeat', part, min: from, max: to, isLazy, start, end }
  }

  #single (): PatternNode {
    const character = this.#take()
    switch (character) {
      case '(':
        return this.#group()
      case '[':
        return this.#codes(this.#class())
      case '.':
        return { type: 'code', ranges: inverted(lineEnds) }
      case '^':
        return { type: 'position', position: 'start' }
      case '$':
        return { type: 'position', position: 'end' }
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
      case '{':
        throw new PatternError(
          `has \`${character}\` with nothing to repeat; write \`\\${character}\` for the character`
        )
      default:
        return this.#codes([only(character.charCodeAt(0))])
    }
  }

  #group (): PatternNode {
    if (this.#next === '?') {
      const [opening] =
        /^\?(?::|<[A-Za-z_]\w{0,50}>)/.exec(this.#source.slice(this.#at, this.#at + 60)) ?? []
      if (opening === undefined) {
        throw new PatternError(
          'has a lookaround or a group with flags, which cannot be searched for in linear time'
        )
      }
      this.#at += opening.length
    }
    if (++this.#openGroups > maxGroups) {
      throw new PatternError(`has more than ${maxGroups} groups inside each other`)
    }
    const inner = this.#choice()
    this.#openGroups--
    if (!this.#takes(')')) throw new PatternError('has a `(` without a `)`')
    return inner
  }

  #escape (): PatternNode {
    const letter = this.#next
    if (letter === 'b' || letter === 'B') {
      this.#at++
      return { type: 'position', position: letter === 'b' ? 'word_boundary' : 'no_word_boundary' }
    }
    return this.#codes(this.#escapedCodes())
  }

  /** Reads what follows a backslash, inside or outside a class. */
  #escapedCodes (): readonly CodeRange[] {
    const character = this.#take()
    const named = classes[character]
    if (named !== undefined) return named
    const control = controls[character]
    if (control !== undefined) return [only(control)]
    if (character === 'x' || character === 'u') return [only(this.#hexadecimal(character === 'x' ? 2 : 4))]
    if (/[1-9k]/.test(character)) {
      throw new PatternError('has a back reference, which cannot be searched for in linear time')
    }
    if (/[A-Za-z0]/.test(character)) throw new PatternError(`has \`\\${character}\`, which is not supported`)
    return [only(character.charCodeAt(0))]
  }

  #hexadecimal (length: number): number {
    const text = this.#source.slice(this.#at, this.#at + length)
    if (text.length < length || !/^[\da-f]+$/i.test(text)) {
      throw new PatternError(`has an escape that needs ${length} hexadecimal digits`)
    }
    this.#at += length
    return Number.parseInt(text, 16)
  }

  #class (): readonly CodeRange[] {
    const isInverted = this.#takes('^')
    const ranges: CodeRange[] = []
    while (!this.#takes(']')) {
      const from = this.#classCodes()
      const [first] = from
      if (
        this.#next !== '-' ||
        this.#source[this.#at + 1] === ']' ||
        from.length !== 1 ||
        first === undefined ||
        first[0] !== first[1]
      ) {
        ranges.push(...from)
        continue
      }
      this.#at++
      const [last] = this.#classCodes()
      if (last === undefined || last[0] !== last[1] || last[0] < first[0]) {
        throw new PatternError('has a range in a class that is out of order')
      }
      ranges.push([first[0], last[0]])
    }
    return isInverted ? inverted(this.#bothCases(ranges)) : ranges
  }

  #classCodes (): readonly CodeRange[] {
    const character = this.#take('has a `[` without a `]`')
    if (character !== '\\') return [only(character.charCodeAt(0))]
    return this.#takes('b') ? [only(0x08)] : this.#escapedCodes()
  }

  #codes (ranges: readonly CodeRange[]): PatternNode {
    return { type: 'code', ranges: this.#bothCases(ranges) }
  }

  #bothCases (ranges: readonly CodeRange[]): readonly CodeRange[] {
    if (!this.#ignoresCase) return ranges
    const other = (from: number, to: number, distance: number): CodeRange[] =>
      ranges
        .map(([first, last]) => [Math.max(first, from) + distance, Math.min(last, to) + distance] as const)
        .filter(([first, last]) => first <= last)
    return [...ranges, ...other(0x41, 0x5a, 0x20), ...other(0x61, 0x7a, -0x20)]
  }

  get #next (): string | undefined {
    return this.#source[this.#at]
  }

  #take (otherwise = 'ends with a backslash'): string {
    const character = this.#source[this.#at++]
    if (character === undefined) throw new PatternError(otherwise)
    return character
  }

  #takes (character: string): boolean {
    if (this.#next !== character) return false
    this.#at++
    return true
  }
}

function only (code: number): CodeRange {
  return [code, code]
}

function boundsOf (min: number, most: string | undefined): [number, number] {
  if (most === undefined) return [min, min]
  return [min, most === ',' ? Infinity : Number(most.slice(1))]
}

function inverted (ranges: readonly CodeRange[]): readonly CodeRange[] {
  const others: CodeRange[] = []
  let from = 0
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    if (first > from) others.push([from, first - 1])
    from = Math.max(from, last + 1)
  }
  return from > lastCode ? others : [...others, [from, lastCode]]
}
