/**
 * Serialises large JSON in parts, one per tick.
 *
 * `JSON.stringify` takes 2 ms for a megabyte of one string and 50 ms for a megabyte of small objects, and
 * encoding to bytes takes as long again. Here it serialises small values and runs of small members.
 */

import { isContainer } from './type-guards.ts'
import { splitText } from '../text/split-text.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import type { RequestMedia } from '../core/call.ts'

/** Values and keys serialised at a time; `charactersPerNode` characters of a string count as one value. */
const runNodes = 4096
const charactersPerNode = 32
/** Characters per part. */
const partLength = 128 * 1024

/**
 * Serialises JSON to bytes, starting in the next tick: creating a large value has already taken much of this
 * one.
 *
 * @param value JSON; `undefined` members are dropped, as by `JSON.stringify`
 * @param media of the value
 */
export function printInSlices (value: unknown, media?: RequestMedia): AsyncIterable<Uint8Array> {
  return media === undefined ? print(value) : media.restore(print(value))
}

async function * print (value: unknown): AsyncGenerator<Uint8Array, void, undefined> {
  await yieldFairly()
  let text = ''
  for (const part of partsOf(value)) {
    text += part
    if (text.length < partLength) continue
    await yieldFairly()
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

/**
 * Serialises JSON to a string, for a small value within the same tick.
 *
 * @param check called with the UTF-8 bytes so far; may throw
 */
export async function printText (
  value: unknown,
  check: (bytes: number) => void = () => undefined
): Promise<string> {
  let text = ''
  let bytes = 0
  let tickEnd = partLength
  for (const part of partsOf(value)) {
    text += part
    check(bytes += Buffer.byteLength(part))
    if (text.length < tickEnd) continue
    tickEnd = text.length + partLength
    await yieldFairly()
  }
  return text
}

/** Returns true for a value that is small enough to be serialised in one part. */
export function isPrintedAtOnce (value: unknown): boolean {
  return nodesIn(value, runNodes) < runNodes
}

/** Yields the JSON of a value in parts that each take little time. */
export function * partsOf (value: unknown): Generator<string, void, undefined> {
  if (isPrintedAtOnce(value)) yield JSON.stringify(value)
  else if (typeof value === 'string') yield * stringParts(value)
  else if (Array.isArray(value)) yield * listParts(value)
  else yield * objectParts(value as object) // everything else is small
}

function * stringParts (text: string): Generator<string, void, undefined> {
  yield '"'
  for (const part of splitText(text, partLength)) yield JSON.stringify(part).slice(1, -1)
  yield '"'
}

function * listParts (list: readonly unknown[]): Generator<string, void, undefined> {
  yield '['
  let nodes = 0
  let from = 0
  for (let to = 0; to < list.length; to++) {
    nodes += nodesIn(list[to], runNodes)
    if (nodes < runNodes) continue
    if (from < to) yield JSON.stringify(list.slice(from, to)).slice(1, -1) + ','
    yield * partsOf(list[to] ?? null)
    if (to + 1 < list.length) yield ','
    from = to + 1
    nodes = 0
  }
  yield JSON.stringify(list.slice(from)).slice(1)
}

function * objectParts (object: object): Generator<string, void, undefined> {
  let before = '{'
  for (const [key, member] of Object.entries(object)) {
    if (member === undefined) continue
    yield `${before}${JSON.stringify(key)}:`
    yield * partsOf(member)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

/** Counts values and keys, up to `most`; a long string counts as several. */
export function nodesIn (value: unknown, most: number): number {
  if (typeof value === 'string') return 1 + value.length / charactersPerNode
  if (!isContainer(value)) return 1
  let nodes = 1
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && nodes < most; index++) {
      nodes += nodesIn(value[index], most - nodes)
    }
    return nodes
  }
  for (const key in value) {
    if (nodes >= most) break
    nodes += 1 + key.length / charactersPerNode + nodesIn(Reflect.get(value, key), most - nodes)
  }
  return nodes
}
