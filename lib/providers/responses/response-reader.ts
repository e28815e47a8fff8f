/**
 * Reads the items of a response into events, piece by piece from a stream or whole from a complete response.
 * Sharing this code keeps both consistent.
 */

import { labelContent, toThinkingBlock } from '../../chat/reasoning-item.ts'
import { isList, nonEmptyText, numberOf, objectsOf, type JsonObject } from '../../json/type-guards.ts'
import { uniqueCallId } from '../../chat/call-ids.ts'
import { argumentsText, contentOf, memberType, partsOf, Retained } from '../json-api.ts'
import { invalidResponse } from '../provider-failure.ts'
import { finishReasonOf } from './finish-reason.ts'
import { responseUsage } from './usage.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { AdapterInput } from '../provider.ts'
import type { WireItem, WirePart, WireResponse } from './wire.ts'

/** An open item. Items of server-side tools and unknown items are not opened. */
type OpenItem = MessageItem | ReasoningItem | CallItem

interface MessageItem extends Item {
  readonly type: 'message'
  readonly startIndex: number
  readonly phase: string | undefined
}

interface ReasoningItem extends Item {
  readonly type: 'reasoning'
  part: unknown
}

interface CallItem extends Item {
  readonly type: 'call'
  readonly call: number
  readonly kind: CallKind
}

interface Item extends Labels {
  /** Text of arguments and reasoning; message text is not kept. */
  text: string
  /** True once a message has text. */
  isWritten: boolean
  isDone: boolean
}

type CallKind = 'function' | 'custom' | 'legacy'

/** Identifiers of an item. Some servers change the id or index in every event, and some omit one. */
interface Labels {
  readonly callId: string | undefined
  readonly id: string | undefined
  readonly index: number | undefined
}

/** How an event identifies its item. */
interface ItemPosition {
  readonly output_index?: unknown
  readonly item_id?: unknown
}

/** Types of items, by a member that only one type has. */
const itemTypes = {
  arguments: 'function_call',
  input: 'custom_tool_call',
  summary: 'reasoning',
  content: 'message'
}

/** Maps the type of a delta to that of its item. */
const typesOfDeltas = {
  'text-delta': 'message',
  'refusal-delta': 'message',
  'reasoning-delta': 'reasoning',
  'tool-call-delta': 'call'
} as const

const choice = 0
/** No model writes so many items; a provider that exceeds the limit is broken. */
const maxItems = 1024

export class ResponseReader {
  readonly #legacy: boolean
  readonly #account: string | undefined
  /** In order of arrival. Finished items stay, because some servers repeat all items at the end. */
  readonly #items: OpenItem[] = []
  readonly #ids: Set<string>
  /** True after the first item of any type. */
  #hasOutput = false
  /** Items that received deltas. */
  readonly #streamed = new Set<OpenItem>()
  readonly #retained = new Retained()
  /** True after arguments of a call that had not begun. */
  #hasLost = false
  #calls = 0
  #textLength = 0
  #response: WireResponse | undefined

  /**
   * @param legacy true if the caller offered deprecated functions: one call, in the deprecated form
   * @param account that labels encrypted reasoning. Default: none, reasoning is unchanged
   */
  constructor (legacy: boolean, ids = new Set<string>(), account?: string) {
    this.#legacy = legacy
    this.#ids = ids
    this.#account = account
  }

  /** True once the provider has ended the response. */
  get isFinished (): boolean {
    return this.#response !== undefined
  }

  start ({ service_tier: tier }: WireResponse, events: ChatEvent[]): void {
    const serviceTier = tier === 'auto' ? undefined : nonEmptyText(tier) // 'auto': not decided yet
    events.push({ type: 'answer-start', ...serviceTier !== undefined && { serviceTier } })
  }

  /**
   * Starts an item, or continues it if it has begun.
   *
   * @throws GatewayError `upstream_invalid_response` for a call without a name
   */
  startItem (position: ItemPosition, item: WireItem & JsonObject, events: ChatEvent[]): OpenItem | undefined {
    const labels = labelsOf(position, item)
    const type = nonEmptyText(item.type) ?? memberType(item, itemTypes)
    this.#hasOutput = true
    const isCall = type === 'function_call' || type === 'custom_tool_call'
    const existing = this.#find(labels, isCall ? 'call' : type)
    if (existing !== undefined) return existing
    switch (type) {
      case 'message':
        return this.#open({
          ...labels,
          type,
          startIndex: this.#textLength,
          phase: nonEmptyText(item.phase),
          isDone: false,
          isWritten: false,
          text: ''
        })
      case 'reasoning':
        return this.#open({ ...labels, type, part: undefined, isDone: false, isWritten: false, text: '' })
      case 'function_call':
      case 'custom_tool_call':
        return this.#startCall(labels, type, item, events)
      default:
        return undefined
    }
  }

  /**
   * Appends text to an item, which some servers do not announce.
   *
   * @param logprobs of the text, if requested
   */
  addText (
    position: ItemPosition,
    type: 'text-delta' | 'refusal-delta',
    value: unknown,
    logprobs: unknown,
    events: ChatEvent[]
  ): void {
    const open = this.#itemAt(position, 'message', events)
    if (open === undefined) return
    this.#streamed.add(open)
    this.#addText(open, type, value, logprobs, events)
  }

  #addText (
    open: OpenItem,
    type: 'text-delta' | 'refusal-delta',
    value: unknown,
    logprobs: unknown,
    events: ChatEvent[]
  ): void {
    const text = nonEmptyText(value)
    if (text === undefined) return
    open.isWritten = true
    if (type === 'text-delta') this.#textLength += text.length
    const content = Array.isArray(logprobs) && logprobs.length > 0 ? logprobs : undefined
    const phase = open.type === 'message' && type === 'text-delta' ? open.phase : undefined
    events.push({
      type,
      choice,
      text,
      ...content !== undefined && { logprobs: { content } },
      ...phase !== undefined && { phase }
    })
  }

  /**
   * Appends visible text to a reasoning item.
   *
   * @param part index of the part; parts are separated by a blank line
   */
  addReasoning (position: ItemPosition, part: unknown, value: unknown, events: ChatEvent[]): void {
    const open = this.#itemAt(position, 'reasoning', events)
    if (open?.type !== 'reasoning') return
    this.#retained.add(nonEmptyText(value)?.length ?? 0)
    this.#streamed.add(open)
    addReasoning(open, part, value, events)
  }

  /** Appends arguments or input to a call. */
  addToCall (position: ItemPosition, value: unknown, events: ChatEvent[]): void {
    const text = argumentsText(value)
    if (text === '') return
    const labels = labelsOf(position)
    const isNamed = labels.id !== undefined || labels.index !== undefined
    const open = isNamed
      ? this.#find(labels, 'call')
      : this.#items.findLast(({ type, isDone }) => type === 'call' && !isDone)
    if (open?.type !== 'call') {
      this.#hasLost = true // the call may still arrive complete
      return
    }
    if (open.isDone) return
    this.#streamed.add(open)
    this.#retained.add(text.length)
    open.text += text
    events.push({ type: 'tool-call-delta', choice, callIndex: open.call, text, kind: open.kind })
  }

  /** Appends a complete part, unless the item received deltas: some servers send none. */
  addWhole (
    position: ItemPosition & { readonly summary_index?: unknown },
    type: 'text-delta' | 'refusal-delta' | 'reasoning-delta' | 'tool-call-delta',
    value: unknown,
    events: ChatEvent[]
  ): void {
    const itemType = typesOfDeltas[type]
    const itemThere = (): OpenItem | undefined =>
      this.#find(labelsOf(position), itemType) ?? this.#items.findLast(item => item.type === itemType)
    const open = itemThere()
    if (open !== undefined && (open.isDone || this.#streamed.has(open))) return
    switch (type) {
      case 'text-delta':
      case 'refusal-delta':
        this.addText(position, type, value, undefined, events)
        break
      case 'reasoning-delta':
        this.addReasoning(position, position.summary_index, value, events)
        break
      case 'tool-call-delta':
        this.addToCall(position, value, events)
        break
      default:
        return type satisfies never
    }
    const added = itemThere()
    // A message or reasoning item may have further complete parts; a call has one.
    if (added !== undefined && added.type !== 'call') this.#streamed.delete(added)
  }

  /** Ends an item, and emits what was not streamed. */
  endItem (position: ItemPosition, item: WireItem & JsonObject, events: ChatEvent[]): void {
    const open = this.startItem(position, item, events)
    if (open !== undefined) this.#end(open, item, events)
  }

  #end (open: OpenItem, item: WireItem, events: ChatEvent[]): void {
    if (open.isDone) return
    open.isDone = true
    switch (open.type) {
      case 'message': {
        const parts: readonly WirePart[] = contentOf(item.content, 'the content of a message')
        if (!open.isWritten) for (const part of parts) this.#addPart(open, part, events)
        const annotations = annotationsOf(parts, open.startIndex)
        if (annotations.length > 0) events.push({ type: 'annotation-delta', choice, annotations })
        break
      }
      case 'reasoning': {
        if (open.text === '') {
          for (const [part, { text }] of readableParts(item).entries()) {
            addReasoning(open, part, text, events)
          }
        }
        const itemId = nonEmptyText(item.id)
        const encryptedContent = nonEmptyText(item.encrypted_content)
        if (itemId !== undefined && encryptedContent !== undefined) {
          events.push({
            type: 'thinking-block',
            choice,
            block: toThinkingBlock(
              itemId,
              this.#account === undefined ? encryptedContent : labelContent(encryptedContent, this.#account),
              open.text
            )
          })
        }
        break
      }
      case 'call': {
        const all = argumentsText(open.kind === 'custom' ? item.input : item.arguments)
        if (open.text === '' && all === '' && this.#hasLost) {
          throw invalidResponse('arguments that belong to no call')
        }
        const rest =
          open.text === ''
            ? all || (open.kind === 'custom' ? '' : '{}')
            : all.startsWith(open.text)
              ? all.slice(open.text.length)
              : ''
        if (rest !== '') {
          events.push({ type: 'tool-call-delta', choice, callIndex: open.call, text: rest, kind: open.kind })
        }
        events.push({ type: 'tool-call-end', choice, callIndex: open.call })
      }
    }
  }

  /**
   * Records how the response ended. Some servers send items only here; items that came before are not read
   * again.
   */
  finish (response: WireResponse, events: ChatEvent[]): void {
    this.#response = response
    const hasText = this.#items.some(({ type, isWritten }) => type === 'message' && isWritten)
    const hasReasoning = this.#items.some(({ type }) => type === 'reasoning')
    for (const [index, item] of partsOf(response.output, 'the output').entries()) {
      const type = nonEmptyText(item['type']) ?? memberType(item, itemTypes)
      if (type === 'message' ? !hasText : type === 'reasoning' ? !hasReasoning : true) {
        this.endItem({ output_index: index }, item, events)
      }
    }
  }

  /**
   * Appends the last events of the response.
   *
   * @throws GatewayError `upstream_invalid_response` for a completed response without any output
   */
  end (events: ChatEvent[]): void {
    for (const open of this.#items) this.#end(open, {}, events)
    const calls = this.#calls === 0 ? 'none' : this.#legacy ? 'legacy' : 'tools'
    const reason = finishReasonOf(this.#response ?? {}, calls)
    if (reason === 'stop' && !this.#hasOutput && !isList(this.#response?.output)) {
      throw invalidResponse('the response has no output')
    }
    if (this.#hasLost && this.#calls === 0) throw invalidResponse('arguments that belong to no call')
    events.push({ type: 'choice-end', choice, reason })
    const usage = responseUsage(this.#response ?? {})
    if (usage !== undefined) events.push({ type: 'usage', usage })
  }

  /** Returns the item at a position; starts it if it was not announced. */
  #itemAt (position: ItemPosition, type: 'message' | 'reasoning', events: ChatEvent[]): OpenItem | undefined {
    const { id, index } = labelsOf(position)
    const isNamed = id !== undefined || index !== undefined
    return (
      (isNamed ? undefined : this.#items.findLast(item => item.type === type && !item.isDone)) ??
      this.startItem(position, { type }, events)
    )
  }

  /** Finds an item by its most reliable identifier: call id, then item id, then index. */
  #find ({ callId, id, index }: Labels, type: string | undefined): OpenItem | undefined {
    return (
      (callId === undefined ? undefined : this.#items.findLast(item => item.callId === callId)) ??
      (id === undefined ? undefined : this.#items.findLast(item => item.id === id)) ??
      (index === undefined
        ? undefined
        : this.#items.findLast(
            item =>
              item.index === index &&
              item.type === type &&
              (type === 'call' ? callId === undefined || item.callId === undefined : !item.isDone)
          ))
    )
  }

  #open (item: OpenItem): OpenItem {
    if (this.#items.length >= maxItems) throw invalidResponse(`more than ${maxItems} items`)
    this.#items.push(item)
    return item
  }

  #addPart (open: OpenItem, { type, text, refusal, logprobs }: WirePart, events: ChatEvent[]): void {
    if (type === 'refusal') this.#addText(open, 'refusal-delta', refusal, undefined, events)
    else this.#addText(open, 'text-delta', text, logprobs, events)
  }

  #startCall (
    labels: Labels,
    type: 'function_call' | 'custom_tool_call',
    item: WireItem,
    events: ChatEvent[]
  ): OpenItem | undefined {
    const name = nonEmptyText(item.name)
    if (name === undefined) throw invalidResponse('a tool call without a name')
    if (this.#legacy && this.#calls > 0) return undefined
    const kind = this.#legacy ? 'legacy' : type === 'custom_tool_call' ? 'custom' : 'function'
    const call = this.#calls++
    events.push({
      type: 'tool-call-start',
      choice,
      callIndex: call,
      id: this.#legacy ? '' : uniqueCallId(labels.callId, this.#ids),
      name,
      kind
    })
    return this.#open({ ...labels, type: 'call', call, kind, isDone: false, isWritten: false, text: '' })
  }
}

/** Returns the account that labels the encrypted reasoning of an answer, if one must. */
export function labelAccount (
  { labelsReasoning, account }: Pick<AdapterInput<unknown>, 'labelsReasoning' | 'account'>
): string | undefined {
  return labelsReasoning === true ? account?.() : undefined
}

function addReasoning (open: ReasoningItem, part: unknown, value: unknown, events: ChatEvent[]): void {
  const piece = nonEmptyText(value)
  if (piece === undefined) return
  const text = open.text === '' || open.part === part ? piece : `\n\n${piece}`
  open.part = part
  open.text += text
  events.push({ type: 'reasoning-delta', choice, text })
}

function labelsOf ({ output_index: index, item_id: id }: ItemPosition, item: WireItem = {}): Labels {
  return {
    callId: nonEmptyText(item.call_id),
    id: nonEmptyText(item.id) ?? nonEmptyText(id),
    index: numberOf(index)
  }
}

/** Returns the summary of a reasoning item, or the reasoning itself if the model shows it. */
function readableParts ({ summary, content }: WireItem): readonly WirePart[] {
  const parts = objectsOf(summary)
  return parts.length > 0 ? parts : objectsOf(content)
}

/** Returns the pages that a message cites, with positions relative to the answer's text. */
function annotationsOf (parts: readonly WirePart[], startIndex: number): unknown[] {
  let offset = startIndex
  return parts.flatMap(({ annotations, text }) => {
    const from = offset
    offset += typeof text === 'string' ? text.length : 0
    return objectsOf(annotations).flatMap(({ type, url, title, start_index: start, end_index: end }) =>
      type !== 'url_citation'
        ? []
        : [
            {
              type,
              url_citation: {
                start_index: from + Number(start ?? 0),
                end_index: from + Number(end ?? 0),
                url,
                title
              }
            }
          ]
    )
  })
}
