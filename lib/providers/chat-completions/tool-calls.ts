/**
 * Finds the tool call that a delta belongs to.
 *
 * The dialect says: `index` is always there, id and name come once, arguments are pieces. Servers
 * leave the index out, use one index for several calls or several for one, write it as text, repeat
 * the name with every piece, send blank or changing ids, arguments before the name, arguments as
 * objects, `{}` before the arguments, and all of it at once.
 * What comes out has dense indexes, one id and one name, and pieces that concatenate. A piece that
 * belongs to no call is an error: a call without its arguments would be run as if it had none.
 */

import { uniqueCallId } from '../../chat/call-ids.ts'
import { argumentsText, partsOf, Retained } from '../answer-parts.ts'
import { invalidResponse } from '../provider-failure.ts'
import { isObject, numberOf, objectOf, nonEmptyText } from '../../json/guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import type { WireToolCall } from './wire.ts'
import type { ChatEvent, ExtraFields } from '../../core/events.ts'
import { backslash, closeList, closeObject, openList, openObject, quote } from '../../json/characters.ts'

type Kind = 'function' | 'custom'

interface OpenCall {
  readonly wireId: string | undefined
  /** True for a call that began without an index. */
  readonly isUnnumbered: boolean
  kind: Kind
  name: string | undefined
  /** Our index, once started; the name must be known for that. */
  call: number | undefined
  /** All pieces so far: to distinguish a repetition from a new call. */
  text: string
  /** `{}` that came first: all the arguments, or what a server writes before them. */
  emptyObject: string
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

const knownFields = new Set(['index', 'id', 'type', 'function', 'custom'])
/** Fields of the function that some servers put into the call itself. */
const flatFields = new Set(['name', 'arguments'])

/** Returns the pieces of calls in a delta: a list, or an only one without a list around it. */
export function toolCallPieces (value: unknown): readonly WireToolCall[] {
  const isMap = isObject(value) && !('function' in value || 'custom' in value || 'name' in value)
  return partsOf(isMap ? Object.values(value) : value, 'the list of tool calls')
}

export class ToolCalls {
  readonly #choice: number
  readonly #open: OpenCall[] = []
  readonly #all = candidates()
  readonly #byIndex = new Map<number, Candidates>()
  readonly #ids: Set<string>
  readonly #retained: Retained
  #started = 0

  /** @param ids those of the conversation, to which its own are added */
  constructor (choice: number, ids = new Set<string>(), retained = new Retained()) {
    this.#choice = choice
    this.#ids = ids
    this.#retained = retained
  }

  /** True once a call has a name: the choice then finishes for its tools. */
  get any (): boolean {
    return this.#started > 0
  }

  /** @param isWhole the call is complete, not a piece of one */
  read (delta: WireToolCall, events: ChatEvent[], isWhole = false): void {
    const [custom] = partsOf(delta.custom, 'the input of a tool call')
    const [called] = partsOf(delta.function, 'the function of a tool call')
    const isFlat = custom === undefined && called === undefined
    const body = custom ?? called ?? objectOf(delta) ?? {}
    const name = nonEmptyText(body['name'])
    const id = nonEmptyText(typeof delta.id === 'string' ? delta.id.trim() : undefined)
    const index = numberOf(delta.index)
    let text = argumentsText(custom === undefined ? body['arguments'] : body['input'])
    // One that is complete and has only an id is a call of its own, which lacks its name.
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
      text = '' // all arguments once more, at the end; free text may well repeat itself
    }
    open.extra ??= extraOf(delta, isFlat)
    if (open.call === undefined && name !== undefined) {
      this.#start(open, id, name, events)
      this.#piece(open, open.text, events) // arguments came before the name
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
   * @param isCut the answer ended before it was complete, so that a call may lack its name
   * @throws GatewayError `upstream_invalid_response` for arguments that are of no call
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
      if (call !== undefined) events.push({ type: 'tool-call-end', choice: this.#choice, call })
    }
  }

  #add (index: number | undefined, open: OpenCall): OpenCall {
    if (this.#open.length >= maxCalls) throw invalidResponse(`more than ${maxCalls} tool calls`)
    this.#open.push(open)
    note(this.#all, open)
    if (index !== undefined) this.#note(index, open)
    return open
  }

  /** Remembers a call under an index of the server. */
  #note (index: number, open: OpenCall): void {
    let same = this.#byIndex.get(index)
    if (same === undefined) this.#byIndex.set(index, same = candidates())
    note(same, open)
  }

  #find (
    index: number | undefined,
    id: string | undefined,
    name: string | undefined,
    text: string
  ): OpenCall | undefined {
    const among = index === undefined ? this.#all : this.#byIndex.get(index)
    const byId = id === undefined ? undefined : (among ?? this.#all).byId.get(id)
    if (byId !== undefined) {
      if (index !== undefined && among === undefined) this.#note(index, byId)
      return name !== undefined && isComplete(byId) && !isRepetition(byId, name, text) ? undefined : byId
    }
    if (name === undefined) return this.#findNameless(index, id, among?.last, text)
    // A name: a new call, unless the current one still waits for its name or repeats it.
    const last = among?.last
    if (last === undefined || index === undefined) return undefined
    if (id !== undefined && last.wireId !== undefined) return undefined
    if (last.name !== undefined && last.name !== name) return undefined
    return isComplete(last) ? undefined : last
  }

  /**
   * A piece without a name belongs to the call of its index, and else to the one that still lacks arguments.
   */
  #findNameless (
    index: number | undefined,
    id: string | undefined,
    same: OpenCall | undefined,
    text: string
  ): OpenCall | undefined {
    if (same !== undefined && !(isClosed(same) && text.trim() !== '')) return same
    const unnumbered = index === undefined ? undefined : this.#open[index]
    const waiting =
      unnumbered?.isUnnumbered === true && !isClosed(unnumbered) ? unnumbered : this.#waiting(id)
    if (waiting === undefined) return same !== undefined && beginsOther(same, text) ? undefined : same
    if (index !== undefined && same === undefined) this.#note(index, waiting)
    return waiting
  }

  /**
   * Returns the last call, if it can take more arguments; one with an id of its own takes none of another id.
   */
  #waiting (id: string | undefined): OpenCall | undefined {
    const { last } = this.#all
    if (last === undefined || isClosed(last)) return undefined
    return id === undefined || last.wireId === undefined ? last : undefined
  }

  #start (open: OpenCall, id: string | undefined, name: string, events: ChatEvent[]): void {
    const unique = uniqueCallId(id ?? open.wireId, this.#ids)
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
    if (open.call === undefined || text === '') return
    events.push({ type: 'tool-call-delta', choice: this.#choice, call: open.call, text, kind: open.kind })
  }
}

/** The call has a name and all its arguments: what follows with a name is another one. */
function isComplete (open: OpenCall): boolean {
  return isClosed(open) || (open.call !== undefined && open.text === '' && open.emptyObject !== '')
}

/** The call has all its arguments, and nothing may follow them. */
function isClosed (open: OpenCall): boolean {
  return open.call !== undefined && open.scan.isComplete(open.text)
}

/**
 * The label of a call comes once more: with none of its arguments, with all of them, or with those behind an
 * empty object.
 */
function isRepetition (open: OpenCall, name: string, text: string): boolean {
  return (
    open.name === name &&
    (text === '' || (open.kind === 'function' && (text === open.text || open.text === '')))
  )
}

/** Arguments after complete ones: of a call that is not named, unless they are the same once more. */
function beginsOther ({ kind, text }: OpenCall, piece: string): boolean {
  return kind === 'function' && piece.trimStart().startsWith('{') && piece !== text
}

function isEmptyObject (text: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(text)
}

function candidates (): Candidates {
  return { last: undefined, byId: new Map() }
}

function note (among: Candidates, open: OpenCall): void {
  among.last = open
  if (open.wireId !== undefined && !among.byId.has(open.wireId)) among.byId.set(open.wireId, open)
}

/**
 * Follows the brackets of arguments piece by piece, so that they are parsed once, when the brackets are
 * closed, and not with each piece: nothing but blanks may come after them.
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
