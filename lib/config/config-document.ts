/** Reads YAML and keeps the position of every entry. */

import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import type { Document, LineCounter, Node, Pair, YAMLError } from 'yaml'
import { isObject } from '../json/type-guards.ts'
import { maxDepth } from '../json/parse-bounded.ts'
import type { Path } from './path.ts'
import { plainValue, type Flaw } from './plain-value.ts'
import { ConfigError } from './problems.ts'

/** Both start at 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

export interface ConfigDocument {
  /** Its name in problem reports. */
  readonly file: string
  readonly text: string
  /** Plain maps, lists and scalars, without empty entries. */
  readonly value: Record<string, unknown>
  /**
   * Returns the position of an entry: of its name, or of its value if that is a scalar and `part` asks for
   * it. For a missing entry, the position of the nearest parent.
   */
  readonly locate: (path: Path, part: 'name' | 'value') => Position
}

type Parsed = Document.Parsed
type Entry = Pair<Node, Node | null>

const namedSections = new Set(['providers', 'models', 'mcp_servers'])

/** Enough for the largest realistic configuration, which parses in well under a second. */
const maxChars = 1024 * 1024

/** One missing bracket can cause an error on every following line. */
const maxFlaws = 20

/** Loads the parser only if there is a file: without one the start is 30 ms faster. */
function yaml (): typeof Yaml {
  // the package's types; synchronous, unlike `import`
  return createRequire(import.meta.url)('yaml') as typeof Yaml
}

/** Returns a document without entries, used if there is no file. */
export function emptyDocument (file: string): ConfigDocument {
  return { file, text: '', value: {}, locate: () => ({ line: 1, column: 1 }) }
}

/**
 * Parses a configuration file (YAML 1.2, one document, anchors allowed).
 *
 * @param file its name in problem reports
 * @throws ConfigError for text that is too long or not YAML, for duplicate entries, and for aliases that are
 *   unknown, refer to themselves or expand too far.
 */
export function readDocument (text: string, file: string): ConfigDocument {
  const parser = yaml()
  const { LineCounter, parseDocument } = parser
  const lines = new LineCounter()
  const failure = (flaws: readonly Flaw[]): ConfigError => new ConfigError(
    flaws.map(({ at, message }) => ({ file, ...position(lines, at), path: '', message }))
  )
  if (text.length > maxChars) throw failure([{ at: 0, message: 'larger than 1 MB' }])
  const tooDeepAt = offsetOfTooDeep(text, parser)
  if (tooDeepAt !== undefined) {
    throw failure([{ at: tooDeepAt, message: `nested deeper than ${maxDepth} levels` }])
  }
  const document = parseDocument(text, {
    // `plainValue` finds duplicates, because the parser compares each key with all previous ones.
    lineCounter: lines, prettyErrors: false, stringKeys: true, uniqueKeys: false
  })
  const plain = plainValue(document, parser)
  const flaws = [
    ...[...document.errors, ...document.warnings].map(error => (
      { at: error.pos[0], message: sentence(error) }
    )),
    ...plain.flaws
  ]
  if (flaws.length > 0) throw failure(flaws.slice(0, maxFlaws))
  const value = withoutEmpties(plain.value ?? {})
  if (!isObject(value)) throw failure([{ at: 0, message: 'must be a map of entries' }])
  const positions = new NodePositions(parser, plain.targets)
  return {
    file,
    text,
    value,
    locate: (path, part) => position(lines, positions.offset(document, path, part))
  }
}

function position (lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}

/**
 * Returns the offset of a node that is nested too deep. The parser composes documents recursively, and V8
 * aborts the process if it has to compile a regular expression when the stack is almost full.
 */
function offsetOfTooDeep (text: string, { Parser }: Pick<typeof Yaml, 'Parser'>): number | undefined {
  const tokens: Yaml.CST.Token[] = [...new Parser().parse(text)]
  const left = tokens.map(token => ({ token, depth: 0 }))
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { token, depth } = next
    if (depth > maxDepth) return token.offset
    for (const child of childrenOf(token)) if (child != null) left.push({ token: child, depth: depth + 1 })
  }
  return undefined
}

function childrenOf (token: Yaml.CST.Token): ReadonlyArray<Yaml.CST.Token | null | undefined> {
  if (token.type === 'document') return [token.value]
  return 'items' in token ? token.items.flatMap(({ key, value }) => [key, value]) : []
}

/** Some messages of the parser quote the text, which may be a secret. */
function sentence ({ code, message }: YAMLError): string {
  switch (code) {
    case 'MULTIPLE_DOCS': return 'only one document is allowed'
    case 'NON_STRING_KEY': return 'the name of an entry must be a string'
    case 'UNEXPECTED_TOKEN': return 'not valid YAML: unexpected content'
    case 'BAD_DQ_ESCAPE': return 'not valid YAML: unknown escape sequence'
    case 'TAG_RESOLVE_FAILED': return 'tags (`!name`) are not supported'
    case 'BAD_DIRECTIVE': return 'directives (`%NAME`) are not supported'
    default: return `not valid YAML: ${message}`
  }
}

/**
 * `models:` with everything below it commented out means the same as no `models:` at all. A name chosen by
 * the operator with nothing after it (`sandbox:`) is an entry with defaults.
 */
function withoutEmpties (value: unknown, section?: string): unknown {
  if (Array.isArray(value)) return value.map(item => withoutEmpties(item, ''))
  if (!isObject(value)) return value
  const named = section !== undefined && namedSections.has(section)
  const kept: Array<[string, unknown]> = []
  for (const [name, entry] of Object.entries(value)) {
    if (entry !== null) kept.push([name, withoutEmpties(entry, section === undefined ? name : '')])
    else if (named) kept.push([name, {}])
  }
  return Object.fromEntries(kept)
}

/** Finds nodes by path, in time independent of the document's size. */
class NodePositions {
  readonly #yaml: typeof Yaml
  readonly #targets: ReadonlyMap<Node, Node>
  readonly #pairs = new WeakMap<Node, ReadonlyMap<unknown, Entry>>()

  /** @param targets the nodes that aliases refer to */
  constructor (parser: typeof Yaml, targets: ReadonlyMap<Node, Node>) {
    this.#yaml = parser
    this.#targets = targets
  }

  offset ({ contents }: Parsed, path: Path, part: 'name' | 'value'): number {
    const { isScalar, isSeq } = this.#yaml
    let node: Node | null | undefined = contents
    let at = 0
    for (const [depth, step] of path.entries()) {
      const target: Node | null | undefined = (node && this.#targets.get(node)) ?? node
      const pair: Entry | undefined = this.#pairsOf(target)?.get(step)
      if (pair !== undefined) {
        node = pair.value
        at = pair.key.range?.[0] ?? at
      } else if (isSeq<Node>(target) && typeof step === 'number') {
        node = target.items[step]
        at = node?.range?.[0] ?? at
      } else {
        break
      }
      if (depth === path.length - 1 && part === 'value' && isScalar(node)) at = node.range?.[0] ?? at
    }
    return at
  }

  #pairsOf (node: Node | null | undefined): ReadonlyMap<unknown, Entry> | undefined {
    const { isMap, isScalar } = this.#yaml
    if (!isMap<Node, Node | null>(node)) return undefined
    const known = this.#pairs.get(node)
    if (known !== undefined) return known
    const pairs = new Map(node.items.map(pair => [isScalar(pair.key) ? pair.key.value : undefined, pair]))
    this.#pairs.set(node, pairs)
    return pairs
  }
}
