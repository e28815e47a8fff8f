/**
 * Which tool call a delta belongs to.
 *
 * The dialect says: `index` is always there, id and name come once, arguments are pieces. Servers
 * leave the index out, use one index for several calls, repeat the name with every piece, send
 * blank or changing ids, arguments before the name, arguments as objects, and all of it whole.
 * What comes out has dense indexes, one id and one name, and pieces that concatenate.
 */

import { toolCallId } from '../../text/ids.ts'
import { objectOf, textOf } from '../../json/guards.ts'
import type { WireToolCall } from './wire.ts'
import type { ChatEvent, ExtraFields } from '../../core/events.ts'

type Kind = 'function' | 'custom'

interface OpenCall {
  readonly wireIndex: number | undefined
  readonly wireId: string | undefined
  kind: Kind
  /** Our index, once started; the name must be known for that. */
  call: number | undefined
  /** All pieces so far: to tell a repetition from a new call. */
  text: string
  extra: ExtraFields | undefined
}

const known = new Set(['index', 'id', 'type', 'function', 'custom'])

export class ToolCalls {
  readonly #choice: number
  readonly #open: OpenCall[] = []
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
    const name = textOf(body['name'])
    const id = textOf(typeof delta.id === 'string' ? delta.id.trim() : undefined)
    const index = typeof delta.index === 'number' ? delta.index : undefined
    let text = pieceOf(custom === undefined ? body['arguments'] : body['input'])

    let open = this.#find(index, id, name)
    if (open === undefined) {
      open = {
        wireIndex: index,
        wireId: id,
        kind: custom === undefined ? 'function' : 'custom',
        call: undefined,
        text: '',
        extra: undefined
      }
      this.#open.push(open)
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
    if (open.call !== undefined) this.#piece(open, text, events)
  }

  end (events: ChatEvent[]): void {
    for (const { call } of this.#open) {
      if (call !== undefined) events.push({ type: 'tool-call-end', choice: this.#choice, call })
    }
  }

  #find (index: number | undefined, id: string | undefined, name: string | undefined): OpenCall | undefined {
    const candidates = index === undefined ? this.#open : this.#open.filter(open => open.wireIndex === index)
    const byId = id === undefined ? undefined : candidates.find(open => open.wireId === id)
    const last = candidates.at(-1)
    if (byId !== undefined) return name !== undefined && isComplete(byId) ? undefined : byId
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
    open.call = this.#started++
    events.push({
      type: 'tool-call-start',
      choice: this.#choice,
      call: open.call,
      id: unique,
      name,
      kind: open.kind,
      ...(open.extra === undefined ? {} : { extra: open.extra })
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
  return open.call !== undefined && open.text !== '' && isJson(open.text)
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
