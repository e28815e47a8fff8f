/**
 * Converts a YAML document to a plain value, reading each node once. The parser's own conversion takes time
 * quadratic in keys and aliases.
 */

import type * as Yaml from 'yaml'
import type { Alias, Document, Node, Pair } from 'yaml'

/** A problem with the text, with its offset. */
export interface Flaw {
  readonly at: number
  readonly message: string
}

/** Maximum values that all aliases may expand to; a realistic configuration has hundreds. */
const maxExpandedValues = 100_000

export interface PlainValue {
  readonly value: unknown
  readonly flaws: readonly Flaw[]
  /** The nodes that aliases refer to. */
  readonly targets: ReadonlyMap<Node, Node>
}

interface Anchored {
  readonly node: Node
  readonly value: unknown
  /** Number of values in it, including itself. */
  readonly values: number
}

/**
 * Returns maps, lists and scalars, and problems: duplicate entries, and aliases that are unknown, refer to
 * themselves or expand too far.
 */
export function plainValue (
  { contents }: Document.Parsed,
  yaml: Pick<typeof Yaml, 'isAlias' | 'isMap' | 'isScalar' | 'isSeq'>
): PlainValue {
  const reader = new NodeReader(yaml)
  const value = reader.read(contents)
  return { value, flaws: reader.flaws, targets: reader.targets }
}

class NodeReader {
  readonly flaws: Flaw[] = []
  readonly targets = new Map<Node, Node>()
  readonly #yaml: Parameters<typeof plainValue>[1]
  /** The last anchor of each name; `undefined` while it is being read. */
  readonly #anchors = new Map<string, Anchored | undefined>()
  #values = 0
  #expandedValues = 0

  constructor (yaml: Parameters<typeof plainValue>[1]) {
    this.#yaml = yaml
  }

  read (node: Node | null): unknown {
    if (this.#yaml.isAlias(node)) return this.#expand(node)
    if (node?.anchor === undefined) return this.#readPlain(node)
    const { anchor } = node
    this.#anchors.set(anchor, undefined)
    const before = this.#values
    const value = this.#readPlain(node)
    this.#anchors.set(anchor, { node, value, values: this.#values - before })
    return value
  }

  #readPlain (node: Node | null): unknown {
    this.#values++
    if (this.#yaml.isSeq<Node>(node)) return node.items.map(item => this.read(item))
    return this.#yaml.isMap<Node, Node | null>(node)
      ? this.#readMap(node.items)
      : this.#yaml.isScalar(node)
        ? node.value
        : null
  }

  #readMap (pairs: ReadonlyArray<Pair<Node, Node | null>>): Record<string, unknown> {
    const entries = new Map<string, unknown>()
    for (const { key, value } of pairs) {
      const name = String(this.read(key))
      if (entries.has(name)) this.flaws.push({ at: startOf(key), message: 'this entry is a duplicate' })
      entries.set(name, this.read(value))
    }
    return Object.fromEntries(entries)
  }

  #expand (alias: Alias): unknown {
    const { source } = alias
    const at = startOf(alias)
    const anchored = this.#anchors.get(source)
    if (anchored === undefined) {
      this.flaws.push({
        at,
        message: this.#anchors.has(source) ? 'self-referencing alias' : 'unknown anchor'
      })
      return null
    }
    this.targets.set(alias, anchored.node)
    this.#values += anchored.values
    const before = this.#expandedValues
    this.#expandedValues += anchored.values
    if (before <= maxExpandedValues && this.#expandedValues > maxExpandedValues) {
      this.flaws.push({ at, message: 'too many alias expansions' })
    }
    return anchored.value
  }
}

function startOf ({ range }: Node): number {
  return range?.[0] ?? 0
}
