/**
 * Finds the tool call that a delta belongs to.
 *
 * According to the dialect, `index` is always present, id and name are sent once, and arguments come in
 * pieces. Real servers omit the index, share one index between calls, use several for one call, send it as a
 * string, repeat the name in every piece, send blank or changing ids, send arguments before the name, as
 * objects, or after `{}`, and combine all of these.
 *
 * The output has dense indexes, one id and one name per call, and pieces that concatenate. A piece that
 * belongs to no call is an error: dropping it would run a call without its arguments.
 */

import { uniqueCallId } from '../../chat/call-ids.ts'
import { argumentsText, partsOf, Retained } from '../json-api.ts'
import { invalidResponse } from '../provider-failure.ts'
import { isObject, numberOf, objectOf, nonEmptyText } from '../../json/type-guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import type { WireToolCall } from './wire.ts'
import type { ChatEvent, ExtraFields } from '../../core/events.ts'
import { backslash, closeList, closeObject, openList, openObject, quote } from '../../json/characters.ts'

type Kind = 'function' | 'custom'

interface OpenToolCall {
  readonly wireId: string | undefined
  /** True for a call that began without an index. */
  readonly isUnnumbered: boolean
  kind: Kind
  name: string | undefined
  /** Our index, assigned once the name is known. */
  call: number | undefined
  /** All pieces so far, to tell a repetition from a new call. */
  text: string
  /** A leading `{}`: either all arguments, or a prefix that some servers send before the arguments. */
  emptyObject: string
  extra: ExtraFields | undefined
  readonly scan: ArgumentScan
}

/** Calls that a delta may belong to. */
interface Candidates {
  last: OpenToolCall | undefined
  /** The first call with each id. */
  readonly byId: Map<string, OpenToolCall>
}

/** No model makes so many calls; a server that exceeds the limit is broken. */
const maxCalls = 1024

const knownFields = new Set(['index', 'id', 'type', 'function', 'custom'])
/** Function fields that some servers put on the call itself. */
const flatFields = new Set(['name', 'arguments'])

/** Returns the call pieces of a delta: a list or a single object. */
export function toolCallPieces (value: unknown): readonly WireToolCall[] {
  const isMap = isObject(value) && !('function' in value || 'custom' in value || 'name' in value)
  return partsOf(isMap ? Object.values(value) : value, 'the list of tool calls')
}

export class ToolCalls {
  readonly #choice: number
  readonly #open: OpenToolCall[] = []
  readonly #all = candidates()
  readonly #byIndex = new Map<number, Candidates>()
  readonly #ids: Set<string>
  readonly #retained: Retained
  #started = 0

  /** @param ids used so far in the conversation; new ids are added */
  constructor (choice: number, ids = new Set<string>(), retained = new Retained()) {
    this.#choice = choice
    this.#ids = ids
    this.#retained = retained
  }

  /** True once a call has a name: the choice then finishes with `tool_calls`. */
  get hasCalls (): boolean {
    return this.#started > 0
  }

  /** @param isWhole true for a complete call, not a piece of one */
  read (delta: WireToolCall, events: ChatEvent[], isWhole = false): void {
    const [custom] = partsOf(delta.custom, 'the input of a tool call')
    const [called] = partsOf(delta.function, 'the function of a tool call')
    const isFlat = custom === undefined && called === undefined
    const body = custom ?? called ?? objectOf(delta) ?? {}
    const name = nonEmptyText(body['name'])
    const id = nonEmptyText(typeof delta.id === 'string' ? delta.id.trim() : undefined)
    const index = numberOf(delta.index)
    let text = argumentsText(custom === undefined ? body['arguments'] : body['input'])
    // A complete call with only an id is a new call without a name.
    const isNameless = isWhole && name === undefined && text === '' && id !== undefined

    let open = isNameless ? undefined : this.#find(index, id, name, text)
    if (open === undefined) {
      open = this.#add(index, {
        wireId: id,
        isUnnumbered: index === undefined,
        kind: custom === undefined ? 'function' : 'custom',
        name: undefined,
        call: undefined,
        text: '',
        emptyObject: '',
        extra: undefined,
        scan: new ArgumentScan()
      })
    } else if (open.kind === 'function' && text !== '' && text === open.text && isJson(text)) {
      text = '' // the server repeats all arguments at the end; free text may legitimately repeat
    }
    open.extra ??= extraOf(delta, isFlat)
    if (open.call === undefined && name !== undefined) {
      this.#start(open, id, name, events)
      this.#piece(open, open.text, events) // arguments that came before the name
    }
    if (text === '') return
    if (open.kind === 'function' && open.text === '' && isEmptyObject(text)) {
      open.emptyObject = text
      return
    }
    this.#retained.add(text.length)
    open.text += text
    open.scan.read(text)
    this.#piece(open, text, events)
  }

  /**
   * Ends all calls.
   *
   * @param isCut true if the answer was truncated, so a call may lack its name
   * @throws GatewayError `upstream_invalid_response` for arguments that belong to no call
   */
  end (events: ChatEvent[], isCut: boolean): void {
    for (const open of this.#open) {
      const { call, text, emptyObject, wireId } = open
      if (call === undefined) {
        if (isCut || (text === '' && emptyObject === '' && wireId === undefined)) continue
        throw invalidResponse('a tool call without a name')
      }
      if (text === '') this.#piece(open, emptyObject, events)
    }
    for (const { call } of this.#open) {
      if (call !== undefined) events.push({ type: 'tool-call-end', choice: this.#choice, callIndex: call })
    }
  }

  #add (index: number | undefined, open: OpenToolCall): OpenToolCall {
    if (this.#open.length >= maxCalls) throw invalidResponse(`more than ${maxCalls} tool calls`)
    this.#open.push(open)
    note(this.#all, open)
    if (index !== undefined) this.#note(index, open)
    return open
  }

  /** Maps a server index to a call. */
  #note (index: number, open: OpenToolCall): void {
    let same = this.#byIndex.get(index)
    if (same === undefined) this.#byIndex.set(index, same = candidates())
    note(same, open)
  }

  #find (
    index: number | undefined,
    id: string | undefined,
    name: string | undefined,
    text: string
  ): OpenToolCall | undefined {
    const among = index === undefined ? this.#all : this.#byIndex.get(index)
    const byId = id === undefined ? undefined : (among ?? this.#all).byId.get(id)
    if (byId !== undefined) {
      if (index !== undefined && among === undefined) this.#note(index, byId)
      return name !== undefined && isComplete(byId) && !isRepetition(byId, name, text) ? undefined : byId
    }
    if (name === undefined) return this.#findNameless(index, id, among?.last, text)
    // A name starts a new call, unless the current call lacks its name or repeats it.
    const last = among?.last
    if (last === undefined || index === undefined) return undefined
    if (id !== undefined && last.wireId !== undefined) return undefined
    if (last.name !== undefined && last.name !== name) return undefined
    return isComplete(last) ? undefined : last
  }

  /** Returns the call for a piece without a name: by index, else one that still lacks arguments. */
  #findNameless (
    index: number | undefined,
    id: string | undefined,
    same: OpenToolCall | undefined,
    text: string
  ): OpenToolCall | undefined {
    if (same !== undefined && !(isClosed(same) && text.trim() !== '')) return same
    const unnumbered = index === undefined ? undefined : this.#open[index]
    const waiting =
      unnumbered?.isUnnumbered === true && !isClosed(unnumbered) ? unnumbered : this.#waiting(id)
    if (waiting === undefined) return same !== undefined && beginsOther(same, text) ? undefined : same
    if (index !== undefined && same === undefined) this.#note(index, waiting)
    return waiting
  }

  /**
   * Returns the last call if it can take more arguments. A call with its own id takes no piece with another
   * id.
   */
  #waiting (id: string | undefined): OpenToolCall | undefined {
    const { last } = this.#all
    if (last === undefined || isClosed(last)) return undefined
    return id === undefined || last.wireId === undefined ? last : undefined
  }

  #start (open: OpenToolCall, id: string | undefined, name: string, events: ChatEvent[]): void {
    const unique = uniqueCallId(id ?? open.wireId, this.#ids)
    open.name = name
    open.call = this.#started++
    events.push({
      type: 'tool-call-start',
      choice: this.#choice,
      callIndex: open.call,
      id: unique,
      name,
      kind: open.kind,
      ...open.extra !== undefined && { extra: open.extra }
    })
  }

  #piece (open: OpenToolCall, text: string, events: ChatEvent[]): void {
    if (open.call === undefined || text === '') return
    const { call: callIndex, kind } = open
    events.push({ type: 'tool-call-delta', choice: this.#choice, callIndex, text, kind })
  }
}

/** True if the call has a name and all arguments: a further name starts another call. */
function isComplete (open: OpenToolCall): boolean {
  return isClosed(open) || (open.call !== undefined && open.text === '' && open.emptyObject !== '')
}

/** True if the call has all its arguments and cannot take more. */
function isClosed (open: OpenToolCall): boolean {
  return open.call !== undefined && open.scan.isComplete(open.text)
}

/**
 * True if a server sends the same call again: without arguments, with all of them, or with those after an
 * empty object.
 */
function isRepetition (open: OpenToolCall, name: string, text: string): boolean {
  return (
    open.name === name &&
    (text === '' || (open.kind === 'function' && (text === open.text || open.text === '')))
  )
}

/** True for arguments that follow complete ones without repeating them: they belong to an unnamed call. */
function beginsOther ({ kind, text }: OpenToolCall, piece: string): boolean {
  return kind === 'function' && piece.trimStart().startsWith('{') && piece !== text
}

function isEmptyObject (text: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(text)
}

function candidates (): Candidates {
  return { last: undefined, byId: new Map() }
}

function note (among: Candidates, open: OpenToolCall): void {
  among.last = open
  if (open.wireId !== undefined && !among.byId.has(open.wireId)) among.byId.set(open.wireId, open)
}

/**
 * Tracks the brackets of arguments piece by piece, so that they are parsed once, when the brackets close.
 * Only blanks may follow.
 */
class ArgumentScan {
  #depth = 0
  #opened = false
  #inString = false
  #escaped = false
  /** Set once the brackets have closed. */
  #isJson: boolean | undefined

  /** @param text all arguments so far */
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
    parseBounded(text)
    return true
  } catch {
    return false
  }
}

function extraOf (delta: WireToolCall, isFlat: boolean): ExtraFields | undefined {
  let extra: Record<string, unknown> | undefined
  for (const [key, value] of Object.entries(delta)) {
    if (knownFields.has(key) || value === null || (isFlat && flatFields.has(key))) continue
    extra ??= {}
    extra[key] = value
  }
  return extra
}
