/**
 * Reads the items of one response into events. A stream feeds it item by item and piece by piece, a complete response item
 * by item; both go through here, so they cannot disagree.
 */

import { toThinkingBlock } from '../../chat/reasoning-item.ts'
import { nonEmptyText, objectsOf } from '../../json/guards.ts'
import { uniqueCallId } from '../../chat/call-ids.ts'
import { invalidResponse } from '../provider-failure.ts'
import { finishReasonOf } from './finish-reason.ts'
import { responseUsage } from './usage.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { WireItem, WirePart, WireResponse } from './wire.ts'

/** An item that is not done. Those of the provider's own tools, and unknown ones, are not opened. */
type OpenItem =
  | { readonly type: 'message', readonly startIndex: number, isWritten: boolean }
  | { readonly type: 'reasoning', text: string, part: unknown }
  | { readonly type: 'call', readonly call: number, readonly kind: CallKind, isWritten: boolean }

type CallKind = 'function' | 'custom' | 'legacy'

const choice = 0
/** More calls than any model makes; a provider that goes on is broken. */
const maxCalls = 1024

export class ResponseReader {
  readonly #legacy: boolean
  readonly #items = new Map<unknown, OpenItem>()
  readonly #ids: Set<string>
  /** Places and ids of items that are done. */
  readonly #done = new Set<unknown>()
  #calls = 0
  #textLength = 0
  #response: WireResponse | undefined

  /** @param legacy the caller offered deprecated functions: one call, in the deprecated form */
  constructor (legacy: boolean, ids = new Set<string>()) {
    this.#legacy = legacy
    this.#ids = ids
  }

  /** True once the provider has said how the response ends. */
  get finished (): boolean {
    return this.#response !== undefined
  }

  start ({ service_tier: tier }: WireResponse, events: ChatEvent[]): void {
    const serviceTier = tier === 'auto' ? undefined : nonEmptyText(tier) // at first it is what was requested
    events.push({ type: 'response-start', ...serviceTier !== undefined && { serviceTier } })
  }

  startItem (index: unknown, item: WireItem, events: ChatEvent[]): void {
    switch (item.type) {
      case 'message':
        this.#items.set(index, { type: 'message', startIndex: this.#textLength, isWritten: false })
        break
      case 'reasoning':
        this.#items.set(index, { type: 'reasoning', text: '', part: undefined })
        break
      case 'function_call':
      case 'custom_tool_call':
        this.#startCall(index, item, events)
    }
  }

  /** Appends a piece of the text of an item, which some servers do not announce. @param logprobs of a text that was requested with them */
  addText (index: unknown, type: 'text-delta' | 'refusal-delta', value: unknown, logprobs: unknown, events: ChatEvent[]): void {
    const text = nonEmptyText(value)
    const open = this.#openItem(index, 'message', events)
    if (text === undefined || open?.type !== 'message') return
    open.isWritten = true
    if (type === 'text-delta') this.#textLength += text.length
    const content = Array.isArray(logprobs) && logprobs.length > 0 ? logprobs : undefined
    events.push({ type, choice, text, ...content !== undefined && { logprobs: { content } } })
  }

  /** Appends a piece of what can be read of a reasoning item. @param part its place; a blank line comes between two of them */
  addReasoning (index: unknown, part: unknown, value: unknown, events: ChatEvent[]): void {
    const piece = nonEmptyText(value)
    const open = this.#openItem(index, 'reasoning', events)
    if (piece === undefined || open?.type !== 'reasoning') return
    const text = open.text === '' || open.part === part ? piece : `\n\n${piece}`
    open.part = part
    open.text += text
    events.push({ type: 'reasoning-delta', choice, text })
  }

  /** Appends a piece of the arguments or the input of a call. */
  addToCall (index: unknown, value: unknown, events: ChatEvent[]): void {
    const text = nonEmptyText(value)
    const open = this.#items.get(index)
    if (text === undefined || open?.type !== 'call') return
    open.isWritten = true
    events.push({ type: 'tool-call-delta', choice, call: open.call, text, kind: open.kind })
  }

  /** Ends an item; what was not streamed of it is taken from it. */
  endItem (index: unknown, item: WireItem, events: ChatEvent[]): void {
    const id = nonEmptyText(item.id) ?? index
    if (!this.#items.has(index) && !this.#done.has(id)) this.startItem(index, item, events)
    const open = this.#items.get(index)
    switch (open?.type) {
      case 'message': {
        const parts: readonly WirePart[] = objectsOf(item.content)
        if (!open.isWritten) for (const part of parts) this.#addPart(index, part, events)
        const annotations = annotationsOf(parts, open.startIndex)
        if (annotations.length > 0) events.push({ type: 'annotation-delta', choice, annotations })
        break
      }
      case 'reasoning': {
        if (open.text === '') for (const [part, { text }] of readableParts(item).entries()) this.addReasoning(index, part, text, events)
        const itemId = nonEmptyText(item.id)
        const encryptedContent = nonEmptyText(item.encrypted_content)
        if (itemId !== undefined && encryptedContent !== undefined) {
          events.push({ type: 'thinking-block', choice, block: toThinkingBlock(itemId, encryptedContent, open.text) })
        }
        break
      }
      case 'call': {
        if (!open.isWritten) this.addToCall(index, open.kind === 'custom' ? item.input : nonEmptyText(item.arguments) ?? '{}', events)
        events.push({ type: 'tool-call-end', choice, call: open.call })
      }
    }
    this.#items.delete(index)
    this.#done.add(index).add(id)
  }

  /** Notes how the response ended. Some servers send its output with the end only. */
  finish (response: WireResponse, events: ChatEvent[]): void {
    this.#response = response
    if (this.#done.size > 0 || this.#items.size > 0) return
    for (const [index, item] of objectsOf(response.output).entries()) this.endItem(index, item, events)
  }

  /** Appends the last events of the response. */
  end (events: ChatEvent[]): void {
    for (const index of this.#items.keys()) this.endItem(index, {}, events)
    const calls = this.#calls === 0 ? 'none' : this.#legacy ? 'legacy' : 'tools'
    events.push({ type: 'choice-end', choice, reason: finishReasonOf(this.#response ?? {}, calls) })
    const usage = responseUsage(this.#response ?? {})
    if (usage !== undefined) events.push({ type: 'usage', usage })
  }

  /** Returns the item at a place, and starts one that was not announced. */
  #openItem (index: unknown, type: 'message' | 'reasoning', events: ChatEvent[]): OpenItem | undefined {
    if (!this.#items.has(index) && !this.#done.has(index)) this.startItem(index, { type }, events)
    return this.#items.get(index)
  }

  #addPart (index: unknown, { type, text, refusal, logprobs }: WirePart, events: ChatEvent[]): void {
    if (type === 'refusal') this.addText(index, 'refusal-delta', refusal, undefined, events)
    else this.addText(index, 'text-delta', text, logprobs, events)
  }

  #startCall (index: unknown, item: WireItem, events: ChatEvent[]): void {
    const name = nonEmptyText(item.name)
    if (name === undefined || (this.#legacy && this.#calls > 0)) return
    if (this.#calls >= maxCalls) throw invalidResponse(`more than ${maxCalls} tool calls`)
    const kind = this.#legacy ? 'legacy' : item.type === 'custom_tool_call' ? 'custom' : 'function'
    const call = this.#calls++
    this.#items.set(index, { type: 'call', call, kind, isWritten: false })
    events.push({ type: 'tool-call-start', choice, call, id: this.#legacy ? '' : uniqueCallId(nonEmptyText(item.call_id), this.#ids), name, kind })
  }
}

/** Returns the summary of a reasoning item, or the reasoning itself of models that show it. */
function readableParts ({ summary, content }: WireItem): readonly WirePart[] {
  const parts = objectsOf(summary)
  return parts.length > 0 ? parts : objectsOf(content)
}

/** Returns the pages that a message cites, by their places in the text of the answer. */
function annotationsOf (parts: readonly WirePart[], startIndex: number): unknown[] {
  let offset = startIndex
  return parts.flatMap(({ annotations, text }) => {
    const from = offset
    offset += typeof text === 'string' ? text.length : 0
    return objectsOf(annotations).flatMap(({ type, url, title, start_index: start, end_index: end }) => type !== 'url_citation' ? [] : [{
      type, url_citation: { start_index: from + Number(start ?? 0), end_index: from + Number(end ?? 0), url, title }
    }])
  })
}
