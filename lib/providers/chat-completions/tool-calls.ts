/**
 * Finds the tool call that a delta belongs to.
 *
 * The dialect says: `index` is always there, id and name come once, arguments are pieces. Servers
 * leave the index out, use one index for several calls, repeat the name with every piece, send
 * blank or changing ids, arguments before the name, arguments as objects, and all of it at once.
 * What comes out has dense indexes, one id and one name, and pieces that concatenate.
 */

import { toolCallId } from '../../text/ids.ts'
import { invalidResponse } from '../provider-failure.ts'
import { objectOf, nonEmptyText } from '../../json/guards.ts'
import type { WireToolCall } from './wire.ts'
import type { ChatEvent, ExtraFields } from '../../core/events.ts'
import { backslash, closeList, closeObject, openList, openObject, quote } from '../../json/characters.ts'

type Kind = 'function' | 'custom'

interface OpenCall {
  readonly wireId: string | undefined
  kind: Kind
  name: string | undefined
  /** Our index, once started; the name must be known for that. */
  call: number | undefined
  /** All pieces so far: to distinguish a repetition from a new call. */
  text: string
  extra: ExtraFields | undefined
  readonly scan: ArgumentScan
}

/** Calls that a delta may mean. */
interface Candidates {
  last: OpenCall | undefined
  /** The first with each id. */
  readonly byId: Map<string, OpenCall>
}

/** More calls than any model makes; a server that goes on is broken. */
const maxCalls = 1024

const known = new Set(['index', 'id', 'type', 'function', 'custom'])

export class ToolCalls {
  readonly #choice: number
  readonly #open: OpenCall[] = []
  readonly #all = candidates()
  readonly #byIndex = new Map<number, Candidates>()
  readonly #ids = new Set<string>()
  #started = 0

  constructor (choice: number) {
    this.#choice = choice
  }

  /** True once a call has a name: the choice then finishes for its tools. */
  get any (): boolean {
    return this.#started > 0
  }

  read (value: unknown, events: ChatEvent[]): void {
    const delta: WireToolCall | undefined = objectOf(value)
    if (delta === undefined) return
    const custom = objectOf(delta.custom)
    const body = custom ?? objectOf(delta.function) ?? {}
    const name = nonEmptyText(body['name'])
    const id = nonEmptyText(typeof delta.id === 'string' ? delta.id.trim() : undefined)
    const index = typeof delta.index === 'number' ? delta.index : undefined
    let text = pieceOf(custom === undefined ? body['arguments'] : body['input'])

    let open = this.#find(index, id, name, text)
    if (open === undefined) {
      open = this.#add(index, {
        wireId: id,
        kind: custom === undefined ? 'function' : 'custom',
        name: undefined,
        call: undefined,
        text: '',
        extra: undefined,
        scan: new ArgumentScan()
      })
    } else if (open.kind === 'function' && text !== '' && text === open.text && isJson(text)) {
      text = '' // all arguments once more, at the end; free text may well repeat itself
    }
    open.extra ??= extraOf(delta)
    if (open.call === undefined && name !== undefined) {
      this.#start(open, id, name, events)
      if (open.text !== '') this.#piece(open, open.text, events) // arguments came before the name
    }
    if (text === '') return
    open.text += text
    open.scan.read(text)
    if (open.call !== undefined) this.#piece(open, text, events)
  }

  end (events: ChatEvent[]): void {
    for (const { call } of this.#open) {
      if (call !== undefined) events.push({ type: 'tool-call-end', choice: this.#choice, call })
    }
  }

  #add (index: number | undefined, open: OpenCall): OpenCall {
    if (this.#open.length >= maxCalls) throw invalidResponse(`more than ${maxCalls} tool calls`)
    this.#open.push(open)
    note(this.#all, open)
    if (index === undefined) return open
    let same = this.#byIndex.get(index)
    if (same === undefined) this.#byIndex.set(index, same = candidates())
    note(same, open)
    return open
  }

  #find (index: number | undefined, id: string | undefined, name: string | undefined, text: string): OpenCall | undefined {
    const among = index === undefined ? this.#all : this.#byIndex.get(index)
    if (among === undefined) return undefined
    const { last } = among
    const byId = id === undefined ? undefined : among.byId.get(id)
    if (byId !== undefined) return name !== undefined && isComplete(byId) && !isRepetition(byId, name, text) ? undefined : byId
    if (name === undefined) return last
    // A name: a new call, unless the current one still waits for its name or repeats it.
    if (last === undefined || index === undefined) return undefined
    if (id !== undefined && last.wireId !== undefined) return undefined
    return isComplete(last) ? undefined : last
  }

  #start (open: OpenCall, id: string | undefined, name: string, events: ChatEvent[]): void {
    let unique = id ?? open.wireId ?? toolCallId()
    if (this.#ids.has(unique)) unique = toolCallId()
    this.#ids.add(unique)
    open.name = name
    open.call = this.#started++
    events.push({
      type: 'tool-call-start',
      choice: this.#choice,
      call: open.call,
      id: unique,
      name,
      kind: open.kind,
      ...open.extra !== undefined && { extra: open.extra }
    })
  }

  #piece (open: OpenCall, text: string, events: ChatEvent[]): void {
    if (open.call === undefined) return
    events.push({ type: 'tool-call-delta', choice: this.#choice, call: open.call, text, kind: open.kind })
  }
}

function pieceOf (value: unknown): string {
  if (typeof value === 'string') return value
  return value === null || value === undefined ? '' : JSON.stringify(value)
}

/** The call has a name and all its arguments: what follows with a name is another one. */
function isComplete (open: OpenCall): boolean {
  return open.call !== undefined && open.scan.isComplete(open.text)
}

/** The label of a call comes once more: with none of its arguments, or with all of them. */
function isRepetition (open: OpenCall, name: string, text: string): boolean {
  return open.name === name && (text === '' || (open.kind === 'function' && text === open.text))
}

function candidates (): Candidates {
  return { last: undefined, byId: new Map() }
}

function note (among: Candidates, open: OpenCall): void {
  among.last = open
  if (open.wireId !== undefined && !among.byId.has(open.wireId)) among.byId.set(open.wireId, open)
}

/**
 * Follows the brackets of arguments piece by piece, so that they are parsed once, when the brackets are closed, and not with
 * each piece: nothing but blanks may come after them.
 */
class ArgumentScan {
  #depth = 0
  #opened = false
  #inString = false
  #escaped = false
  /** Set once the brackets were closed. */
  #isJson: boolean | undefined

  /** @param text all of it so far */
  isComplete (text: string): boolean {
    const isClosed = this.#opened && this.#depth === 0 && !this.#inString
    return isClosed && (this.#isJson ??= isJson(text))
  }

  read (text: string): void {
    if (this.#isJson === true && /[^\t\n\r ]/.test(text)) this.#isJson = false
    for (let at = 0; at < text.length; at++) {
      const character = text.charCodeAt(at)
      if (this.#escaped) this.#escaped = false
      else if (this.#inString) {
        if (character === backslash) this.#escaped = true
        else if (character === quote) this.#inString = false
      } else if (character === quote) this.#inString = true
      else if (character === openObject || character === openList) {
        this.#opened = true
        this.#depth++
      } else if (character === closeObject || character === closeList) this.#depth--
    }
  }
}

function isJson (text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function extraOf (delta: WireToolCall): ExtraFields | undefined {
  let extra: Record<string, unknown> | undefined
  for (const [key, value] of Object.entries(delta)) {
    if (known.has(key) || value === null) continue
    extra ??= {}
    extra[key] = value
  }
  return extra
}
