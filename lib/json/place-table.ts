/**
 * Defines where a JSON value holds text. A table maps paths to places: text that may be replaced, text that
 * is seen but fixed, or unseen text, with a reason.
 *
 * ```ts
 * const places = new PlaceTable({
 *   // every string below `input`, in a block whose `type` is `tool_use`
 *   'messages[].content[](tool_use).input.**': text,
 *   'messages[].content[](thinking).thinking': fixed,
 *   'metadata.*': text,                                // the strings of any member
 *   '**.signature': unseen('belongs to what it signs'), // unless another line matches
 *   '**.cache_control.**': unseen('a mark')             // every string below
 * })
 * ```
 *
 * A line `**.name` only applies to strings of that name. An object or list there can hold any text, such as a
 * property `type` in a schema, and is treated like its parent.
 *
 * The longest matching path wins. Strings without a line are seen but fixed. So are unknown member names, and
 * numbers in data that callers and models name themselves: to a model they are text too.
 */

import { yieldFairly } from '../async/yield-fairly.ts'
import { isContainer, isObject, type JsonObject } from './type-guards.ts'
import { withoutRepeatedKeys } from './object-text.ts'
import { parseBounded } from './parse-bounded.ts'
import { parseBoundedText } from './parse-text.ts'
import { nodesIn } from './print-in-slices.ts'
import { isPacked, packFields, unpackFields } from './packed-fields.ts'
import { spliceInSlices, spliceStrings } from './splice-strings.ts'

export interface TextPlace {
  /** `json`: a string containing JSON, whose strings are replaced. `fixed`: seen, but never changed. */
  readonly kind: 'text' | 'json' | 'fixed' | 'unseen'
  /** The places in the fields that the gateway packed. `kind` is that of a string that is not packed. */
  readonly packed?: PlaceTable
  /** Part of a tool call or a tool result. */
  readonly part?: 'tool_call' | 'tool_result'
  readonly isPiece?: true
  /** Distinguishes texts if an event has pieces of several. Absent if unknown. */
  readonly textName?: string
  /** True for a name or keyword, not a sentence. */
  readonly isName?: true
  /** True for data with arbitrary member names: lines `**.name` do not apply below it. */
  readonly hasAnyNames?: true
  /** True for a JSON Schema: its types and repeated property names are not text. */
  readonly isSchema?: true
  /** Where unseen base64 is allowed: only in a `data:` URL, or also bare. */
  readonly base64?: 'in_url' | 'anywhere'
}

export const text: TextPlace = { kind: 'text' }
export const fixed: TextPlace = { kind: 'fixed' }
/** The place of a string without a line in the table. */
export const unlisted: TextPlace = { kind: 'fixed' }
/** The place of a member name without a line in the table. */
export const memberName: TextPlace = { kind: 'fixed', isName: true }
/** A provider's keyword; it could be any text, because not all keywords are known. */
export const anyWord: TextPlace = { kind: 'fixed', isName: true }
/** A URL, or a `data:` URL. */
export const address: TextPlace = { kind: 'text', base64: 'in_url' }
/** A base64 file. Anything else there could be text. */
export const media: TextPlace = { kind: 'fixed', base64: 'anywhere' }
/** Data with arbitrary member names. */
export const freeText: TextPlace = { kind: 'text', hasAnyNames: true }
export const jsonSchema: TextPlace = { ...freeText, isSchema: true }
export const toolCall: TextPlace = { kind: 'text', part: 'tool_call', hasAnyNames: true }
/** Tool arguments, as a string containing JSON. */
export const toolArguments: TextPlace = { kind: 'json', part: 'tool_call' }
export const toolResult: TextPlace = { kind: 'text', part: 'tool_result' }
/** Data with arbitrary member names in a tool result. */
export const freeResult: TextPlace = { ...toolResult, hasAnyNames: true }

/** The places of a table, by path. */
export type Places = Readonly<Record<string, TextPlace>>

/** Keywords for the type of an object, which a model does not receive as text. */
export const kindWords: Places = { '**.type': anyWord, '**.role': anyWord }

/** @param _reason why guards do not see it */
export function unseen (_reason: string): TextPlace {
  return { kind: 'unseen' }
}

/** Returns the places in a part that a provider signed or encrypted. All other strings in it are fixed. */
export function signedPart (path: string): Places {
  return {
    [`${path}.signature`]: unseen('belongs to the text that it signs'),
    [`${path}.data`]: unseen('only the provider can read it')
  }
}

/**
 * Returns the place of a string in which the gateway may have packed fields.
 *
 * @param place the place of a string that is not packed
 * @param fields the places in the fields
 */
export function mayBePacked (place: TextPlace, fields: Places): TextPlace {
  return { ...place, packed: new PlaceTable(fields) }
}

/** A piece of a string without a line in the table. */
export const unlistedPiece: TextPlace = { kind: 'fixed', isPiece: true }

/**
 * Returns the place of a piece of the text.
 *
 * @param textName distinguishes pieces of several texts in one event
 */
export function pieceOf (place: TextPlace, textName = 'text'): TextPlace {
  return { ...place, isPiece: true, textName }
}

/**
 * Returns the replacement of a text. It is called for every text that guards may see; the result is ignored
 * at `fixed` places, where a guard can only throw to refuse the call.
 */
export type ReplaceText = (text: string, place: TextPlace) => string

/** Replaces a value according to the table's nodes. */
type ReplaceValue = (value: unknown, nodes: readonly Node[], below: TextPlace | undefined) => unknown

/** Values and keys replaced per tick. */
const tickNodes = 4096

interface Node {
  place?: TextPlace
  /** The place of all strings below. */
  below?: TextPlace
  item?: Node
  readonly members: Map<string, Node>
  /** By the `type` of an object or the `role` of a message. */
  readonly types: Map<string, Node>
}

const token = /\.?(\*\*|[^.[\]()]{1,80})|(\[\])|\(([^()]{1,400})\)/g
const anywherePrefix = '**.'
const belowSuffix = '.**'

export class PlaceTable {
  readonly #root = emptyNode()
  readonly #anywhere = new Map<string, TextPlace>()
  readonly #belowAnywhere = new Map<string, TextPlace>()

  constructor (table: Places) {
    for (const [path, place] of Object.entries(table)) {
      if (!path.startsWith(anywherePrefix)) add([this.#root], path, place)
      else if (path.endsWith(belowSuffix))
        this.#belowAnywhere.set(path.slice(anywherePrefix.length, -belowSuffix.length), place)
      else this.#anywhere.set(path.slice(anywherePrefix.length), place)
    }
  }

  /**
   * Returns the value with its texts replaced; unchanged parts, including the value itself, keep their
   * identity.
   */
  replace<T> (value: T, replace: ReplaceText): T {
    const inner: ReplaceValue = (value, nodes, below) => this.#replace(value, nodes, below, replace, inner)
    // strings stay strings, and lists stay lists
    return inner(value, [this.#root], undefined) as T
  }

  /** Does the same in slices, for a large value. Names come before values. */
  async replaceInSlices<T> (value: T, replace: ReplaceText): Promise<T> {
    let left = tickNodes
    const atOnce: ReplaceValue = (value, nodes, below) =>
      this.#replace(value, nodes, below, replace, atOnce)
    const inSlices = async (...[value, nodes, below]: Parameters<ReplaceValue>): Promise<unknown> => {
      const size = nodesIn(value, tickNodes)
      left -= size
      if (left < 0) {
        left = tickNodes
        await yieldFairly()
      }
      if (typeof value === 'string' && size >= tickNodes) {
        return await replaceLongString(value, placeIn(nodes) ?? below ?? unlisted, replace)
      }
      if (!isContainer(value) || size < tickNodes) return atOnce(value, nodes, below)
      if (Array.isArray(value) && value.length > 1) {
        const middle = Math.floor(value.length / 2)
        const [first, second] = [value.slice(0, middle), value.slice(middle)]
        // a slice of a list is a list
        const one = await inSlices(first, nodes, below) as unknown[]
        const other = await inSlices(second, nodes, below) as unknown[]
        return one === first && other === second ? value : one.concat(other)
      }
      // Visited twice in the same order: to collect the children, then to put in their replacements.
      const inside: Array<Parameters<ReplaceValue>> = []
      this.#replace(value, nodes, below, replace, (...one) => {
        inside.push(one)
        return one[0]
      })
      const replaced: unknown[] = []
      for (const one of inside) replaced.push(await inSlices(...one))
      let next = 0
      return this.#replace(value, nodes, below, text => text, () => replaced[next++])
    }
    return await inSlices(value, [this.#root], undefined) as T // strings and lists stay what they are
  }

  /** Returns a JSON text with its texts replaced and without duplicate keys. */
  replaceIn (json: string, replace: ReplaceText): string {
    const value = parseBounded(json)
    return spliceStrings(withoutRepeatedKeys(json, value), value, this.replace(value, replace))
  }

  /** @param inner replaces the content of a list or an object */
  #replace (
    value: unknown,
    nodes: readonly Node[],
    below: TextPlace | undefined,
    replace: ReplaceText,
    inner: ReplaceValue
  ): unknown {
    if (typeof value === 'string') return replaceString(value, placeIn(nodes) ?? below ?? unlisted, replace)
    if (typeof value === 'number') lookAt(value, placeIn(nodes) ?? below, replace)
    if (!isContainer(value)) return value
    const place = placeBelow(nodes) ?? below
    if (place?.kind === 'unseen' && !nodes.some(hasChildren)) return value
    if (Array.isArray(value)) {
      return replaceItems(value, childrenOf(nodes, ({ item }) => item), place, inner)
    }
    const object = value as JsonObject
    return this.#replaceMembers(object, nodesForType(object, nodes), place, replace, inner)
  }

  #replaceMembers (
    object: JsonObject,
    nodes: readonly Node[],
    below: TextPlace | undefined,
    replace: ReplaceText,
    inner: ReplaceValue
  ): JsonObject {
    const under = placeBelow(nodes) ?? below
    let result: JsonObject | undefined
    for (const name of Object.keys(object)) {
      const member = object[name]
      const named = membersOf(nodes, name)
      const others = named.length > 0 ? named : membersOf(nodes, '*')
      const isOwnName = named.length > 0 || under?.hasAnyNames === true
      const word = isOwnName || isContainer(member) ? undefined : this.#anywhere.get(name)
      const place = word ?? (isOwnName ? undefined : this.#belowAnywhere.get(name)) ?? under
      if (named.length === 0 && word === undefined && place?.kind !== 'unseen') replace(name, memberName)
      if (place?.isSchema === true && isSchemaWord(object, name)) continue
      const replaced = inner(member, others, place)
      if (replaced !== member) (result ??= { ...object })[name] = replaced
    }
    return result ?? object
  }
}

function replaceItems (
  list: readonly unknown[],
  nodes: readonly Node[],
  below: TextPlace | undefined,
  inner: ReplaceValue
): readonly unknown[] {
  let result: unknown[] | undefined
  for (const [index, item] of list.entries()) {
    const replaced = inner(item, nodes, below)
    if (replaced !== item) (result ??= [...list])[index] = replaced
  }
  return result ?? list
}

const schemaTypes = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])

/**
 * Returns true for `type` and `required` of a JSON Schema: their values are keywords, and names that are
 * checked where the schema defines them.
 */
function isSchemaWord (schema: JsonObject, name: string): boolean {
  const { properties } = schema
  const words: readonly unknown[] = [schema[name]].flat()
  switch (name) {
    case 'type': return words.every(word => typeof word === 'string' && schemaTypes.has(word.toLowerCase()))
    case 'required':
      return isObject(properties) && words.every(word => Object.hasOwn(properties, String(word)))
    default: return false
  }
}

/** A loop, because this runs for each member of a request, and `flatMap` allocates per node. */
function childrenOf (nodes: readonly Node[], pick: (node: Node) => Node | undefined): Node[] {
  const found: Node[] = []
  for (const node of nodes) {
    const child = pick(node)
    if (child !== undefined) found.push(child)
  }
  return found
}

function membersOf (nodes: readonly Node[], name: string): readonly Node[] {
  return childrenOf(nodes, ({ members }) => members.get(name))
}

function replaceString (string: string, place: TextPlace, replace: ReplaceText): string {
  if (place.packed !== undefined && isPacked(string)) return replacePacked(string, place.packed, replace)
  if (string === '' || (place.base64 !== undefined && isBase64(string, place.base64))) return string
  switch (place.kind) {
    case 'text':
      return replace(string, place)
    case 'json':
      return place.isPiece === true ? replace(string, place) : replaceInJson(string, place, replace)
    case 'fixed':
      replace(string, place)
      return string
    case 'unseen':
      return string
  }
}

async function replaceLongString (string: string, place: TextPlace, replace: ReplaceText): Promise<string> {
  return place.kind === 'json' && place.isPiece !== true
    ? await replaceInJsonInSlices(string, place, replace)
    : replaceString(string, place, replace)
}

function replacePacked (string: string, places: PlaceTable, replace: ReplaceText): string {
  const fields = unpackFields(string)
  const replaced = places.replace(fields, replace)
  return replaced === undefined || replaced === fields ? string : packFields(replaced)
}

/** Checks only the beginning: text after some base64 would be unreadable. */
function isBase64 (string: string, where: 'in_url' | 'anywhere'): boolean {
  const head = string.slice(0, 4096)
  return /^data:[^,]*;base64,/i.test(head) || (where === 'anywhere' && /^[\w+/=\r\n-]*$/.test(head))
}

/** Passes a number as text if member names are arbitrary: elsewhere numbers are counts and measures. */
function lookAt (number: number, place: TextPlace | undefined, replace: ReplaceText): void {
  if (place === undefined || place.kind === 'unseen') return
  if (place.hasAnyNames !== true && place.part === undefined) return
  replace(String(number), place.part === undefined ? fixed : { ...fixed, part: place.part })
}

/**
 * Replaces the strings in a string containing JSON. If that is invalid, truncated, too expensive to parse, or
 * not a container or string, it is replaced as a whole, with the place `json`.
 */
export function replaceInJson (json: string, { part }: TextPlace, replace: ReplaceText): string {
  let value: unknown
  try {
    value = parseBounded(json)
  } catch {
    return replaceAsText(json, part, replace)
  }
  if (!hasStrings(value)) return replaceAsText(json, part, replace)
  return spliceStrings(withoutRepeatedKeys(json, value), value, everywhere(part).replace(value, replace))
}

/** Does the same in slices, for a large string. */
export async function replaceInJsonInSlices (
  json: string,
  { part }: TextPlace,
  replace: ReplaceText
): Promise<string> {
  let value: unknown
  try {
    value = await parseBoundedText(json)
  } catch {
    return replaceAsText(json, part, replace)
  }
  if (!hasStrings(value)) return replaceAsText(json, part, replace)
  return await spliceInSlices(json, value, await everywhere(part).replaceInSlices(value, replace))
}

function hasStrings (value: unknown): boolean {
  return isContainer(value) || typeof value === 'string'
}

/** Replaces a string that cannot be parsed here. A reader may still resolve its escapes. */
function replaceAsText (json: string, part: TextPlace['part'], replace: ReplaceText): string {
  const text = json.replaceAll(escapeSequence, unescaped)
  const replaced = replace(text, { kind: 'json', ...part !== undefined && { part } })
  return replaced === text ? json : replaced
}

const escapeSequence = /\\(?:u([\da-f]{4})|[^u])/gi

/** Returns the character of an escape that JSON does not require; other escapes stay unchanged. */
function unescaped (sequence: string, code: string | undefined): string {
  if (sequence === '\\/') return '/'
  if (code === undefined) return sequence
  const character = String.fromCharCode(Number.parseInt(code, 16))
  return /["\\\p{Cc}]/u.test(character) ? sequence : character
}

/** Returns a table for a value whose strings are all text. */
export function everywhere (part: TextPlace['part']): PlaceTable {
  return part === undefined ? allTexts : part === 'tool_call' ? allOfCall : allOfResult
}

function placeIn (nodes: readonly Node[]): TextPlace | undefined {
  return nodes.find(({ place }) => place !== undefined)?.place ?? placeBelow(nodes)
}

function placeBelow (nodes: readonly Node[]): TextPlace | undefined {
  return nodes.find(({ below }) => below !== undefined)?.below
}

function hasChildren ({ item, members, types }: Node): boolean {
  return item !== undefined || members.size > 0 || types.size > 0
}

/** Puts the nodes for an object's type before those for any type. */
function nodesForType (object: JsonObject, nodes: readonly Node[]): readonly Node[] {
  const name = object['type'] ?? object['role']
  const own = typeof name !== 'string' ? [] : childrenOf(nodes, ({ types }) => types.get(name))
  return own.length === 0 ? nodes : [...own, ...nodes]
}

function add (roots: readonly Node[], path: string, place: TextPlace): void {
  let nodes = roots
  for (const [, name, item, types] of path.matchAll(token)) {
    if (name === '**') {
      for (const node of nodes) node.below = place
      return
    }
    if (item !== undefined) nodes = nodes.map(node => (node.item ??= emptyNode()))
    else if (types !== undefined)
      nodes = nodes.flatMap(node => types.split('|').map(type => childOf(node.types, type)))
    else if (name !== undefined) nodes = nodes.map(node => childOf(node.members, name))
  }
  for (const node of nodes) node.place = place
}

function childOf (children: Map<string, Node>, name: string): Node {
  const existing = children.get(name)
  if (existing !== undefined) return existing
  const node = emptyNode()
  children.set(name, node)
  return node
}

function emptyNode (): Node {
  return { members: new Map(), types: new Map() }
}

const allTexts = new PlaceTable({ '**': text })
const allOfCall = new PlaceTable({ '**': toolCall })
const allOfResult = new PlaceTable({ '**': toolResult })
