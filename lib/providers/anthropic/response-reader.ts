/**
 * Reads the content blocks of a response into events, piece by piece from a stream or whole from a complete
 * response. Sharing this code keeps both consistent.
 */

import { callIdsIn, uniqueCallId } from '../../chat/call-ids.ts'
import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { numberOf, objectOf, nonEmptyText, type JsonObject } from '../../json/type-guards.ts'
import { argumentsText, memberType, objectArguments, Retained } from '../json-api.ts'
import { invalidResponse } from '../provider-failure.ts'
import { finishReasonOf } from './finish-reason.ts'
import { replacedNames, withOwnNames } from './property-names.ts'
import { servedServiceTier } from './service-tier.ts'
import { UsageCount } from './usage.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent, FinishReason } from '../../core/events.ts'
import type { WireAnswer, WireBlock, WireBlockDelta, WireCitation } from './wire.ts'

/** An open block. Blocks of server-side tools and unknown blocks are not opened. */
type OpenBlock =
  | {
      readonly type: 'text'
      readonly startIndex: number
      readonly citations: Array<WireCitation | undefined>
    }
  | { readonly type: 'thinking', thinking: string, signature: string }
  | {
      readonly type: 'tool_use'
      readonly call: number
      readonly wireId: unknown
      readonly input: unknown
      text: string
      isStreamed: boolean
      readonly names: ReadonlyMap<string, string> | undefined
    }

const choice = 0
/** Types of blocks and deltas, by a member that only one type has. */
const blockTypes = {
  input: 'tool_use',
  data: 'redacted_thinking',
  thinking: 'thinking',
  text: 'text',
  name: 'tool_use'
}
const deltaTypes = {
  partial_json: 'input_json_delta',
  citation: 'citations_delta',
  signature: 'signature_delta',
  thinking: 'thinking_delta',
  text: 'text_delta'
}
/** Maps the type of a delta to that of its block. */
const blockOf: ReadonlyMap<string, OpenBlock['type']> = new Map([
  ['text_delta', 'text'],
  ['citations_delta', 'text'],
  ['thinking_delta', 'thinking'],
  ['signature_delta', 'thinking'],
  ['input_json_delta', 'tool_use']
])
/** No model makes so many calls; a provider that exceeds the limit is broken. */
const maxCalls = 1024

export class ResponseReader {
  readonly usage = new UsageCount()
  readonly #kind: 'function' | 'legacy'
  /** By index, which some servers send as a string or omit. */
  readonly #blocks = new Map<number | undefined, OpenBlock>()
  /** Ids used in the conversation: the next turn would be rejected if an answer repeated one. */
  readonly #ids: Set<string>
  /** Indexes of all announced blocks, including those that are not opened. */
  readonly #seenIndexes = new Set<number | undefined>()
  readonly #request: Pick<ChatInput, 'tools' | 'functions'>
  readonly #retained = new Retained()
  #calls = 0
  #textLength = 0
  #finish: FinishReason | undefined
  #stopSequence: string | undefined

  /** Callers who offered deprecated functions get one call, in the deprecated form. */
  constructor (request: Pick<ChatInput, 'tools' | 'functions' | 'messages'>) {
    this.#kind = offersFunctionsOnly(request) ? 'legacy' : 'function'
    this.#ids = callIdsIn(request)
    this.#request = request
  }

  /** True once a stop reason has arrived. */
  get isFinished (): boolean {
    return this.#finish !== undefined
  }

  /** @param isStream true if the content is still to come */
  start ({ usage }: WireAnswer, isStream: boolean, events: ChatEvent[]): void {
    if (isStream) this.usage.readFirst(usage)
    else this.usage.read(usage)
    const serviceTier = servedServiceTier(objectOf(usage)?.['service_tier'])
    events.push({ type: 'answer-start', ...serviceTier !== undefined && { serviceTier } })
  }

  /** Starts a block; in a complete response it already has its content. */
  startBlock (wireIndex: unknown, block: WireBlock & JsonObject, events: ChatEvent[]): void {
    const index = numberOf(wireIndex)
    const type = nonEmptyText(block.type) ?? memberType(block, blockTypes)
    if (type === undefined || this.#isOpen(index, block)) return
    this.#retained.add(0)
    this.#seenIndexes.add(index)
    switch (type) {
      case 'text': {
        const citations = Array.isArray(block.citations) ? block.citations.map(objectOf) : []
        this.#blocks.set(index, { type: 'text', startIndex: this.#textLength, citations })
        this.#addText(block.text, events)
        break
      }
      case 'thinking': {
        const open = {
          type: 'thinking' as const,
          thinking: '',
          signature: nonEmptyText(block.signature) ?? ''
        }
        this.#blocks.set(index, open)
        addThinking(open, block.thinking, events)
        break
      }
      case 'redacted_thinking': {
        const data = nonEmptyText(block.data)
        if (data !== undefined) {
          events.push({ type: 'thinking-block', choice, block: { type: 'redacted_thinking', data } })
        }
        break
      }
      case 'tool_use':
        this.#startCall(index, block, events)
    }
  }

  /**
   * Adds a delta to the block at its index, or to the last open block of its type if the types differ.
   *
   * @throws GatewayError `upstream_invalid_response` for arguments of a call without a name
   */
  addToBlock (wireIndex: unknown, delta: WireBlockDelta & JsonObject, events: ChatEvent[]): void {
    const index = numberOf(wireIndex)
    const given = nonEmptyText(delta.type) ?? ''
    const type = blockOf.has(given) ? given : memberType(delta, deltaTypes) ?? ''
    const wanted = blockOf.get(type)
    if (wanted === undefined || (this.#seenIndexes.has(index) && !this.#blocks.has(index))) return
    const open = this.#blockFor(index, wanted) ?? this.#startUnannounced(index, wanted)
    switch (type) {
      case 'text_delta':
        if (open.type === 'text') this.#addText(delta.text, events)
        break
      case 'citations_delta':
        this.#retained.add(JSON.stringify(delta.citation ?? null).length)
        if (open.type === 'text') open.citations.push(objectOf(delta.citation))
        break
      case 'thinking_delta':
        this.#retained.add(nonEmptyText(delta.thinking)?.length ?? 0)
        if (open.type === 'thinking') addThinking(open, delta.thinking, events)
        break
      case 'signature_delta':
        if (open.type === 'thinking') open.signature = nonEmptyText(delta.signature) ?? open.signature
        break
      case 'input_json_delta': {
        const text = argumentsText(delta.partial_json)
        if (open.type !== 'tool_use' || text === '') break
        open.isStreamed = true
        if (open.names === undefined) {
          events.push({ type: 'tool-call-delta', choice, callIndex: open.call, text, kind: this.#kind })
        } else {
          this.#retained.add(text.length)
          open.text += text // names are restored once the arguments are complete
        }
      }
    }
  }

  /** Records text of an open block whose event is created elsewhere. */
  noteText (length: number): void {
    this.#textLength += length
  }

  endBlock (wireIndex: unknown, events: ChatEvent[]): void {
    const index = numberOf(wireIndex)
    const open = this.#blocks.get(index)
    if (open === undefined) return
    this.#blocks.delete(index)
    switch (open.type) {
      case 'text': {
        const annotations = annotationsOf(open.citations, open.startIndex, this.#textLength)
        if (annotations.length > 0) events.push({ type: 'annotation-delta', choice, annotations })
        break
      }
      case 'thinking': {
        const { thinking, signature } = open
        if (thinking === '' && signature === '') break
        const block = { type: 'thinking' as const, thinking, ...signature !== '' && { signature } }
        events.push({ type: 'thinking-block', choice, block })
        break
      }
      case 'tool_use': {
        const { call, names } = open
        // Streams omit empty arguments, but clients parse them: send `{}`.
        const text = open.isStreamed ? open.text : objectArguments(open.input)
        if (text !== '') {
          events.push({
            type: 'tool-call-delta',
            choice,
            callIndex: call,
            text: names === undefined ? text : withOwnNames(text, names),
            kind: this.#kind
          })
        }
        events.push({ type: 'tool-call-end', choice, callIndex: open.call })
      }
    }
  }

  /** Records the stop reason. A later reason wins, unless the earlier one means truncation or filtering. */
  finish (
    { stop_reason: reason, stop_sequence: sequence, stop_details: details }: WireAnswer,
    events: ChatEvent[]
  ): void {
    if (nonEmptyText(reason) === undefined) return
    const later = finishReasonOf(reason)
    if (isCut(this.#finish) && !isCut(later)) return // a truncated answer must not look complete
    this.#finish = later
    this.#stopSequence = reason === 'stop_sequence' ? nonEmptyText(sequence) : undefined
    const explanation = reason === 'refusal' ? nonEmptyText(objectOf(details)?.['explanation']) : undefined
    if (explanation !== undefined) events.push({ type: 'refusal-delta', choice, text: explanation })
  }

  /**
   * Appends the last events of the response.
   *
   * @throws GatewayError `upstream_invalid_response` if a tool call was announced, but the answer is empty
   */
  end (events: ChatEvent[]): void {
    for (const index of this.#blocks.keys()) this.endBlock(index, events)
    const reason = this.#reason()
    const legacyCall = reason === 'tool_calls' && this.#kind === 'legacy'
    events.push({
      type: 'choice-end',
      choice,
      reason: legacyCall ? 'function_call' : reason,
      ...this.#stopSequence !== undefined && { stopSequence: this.#stopSequence }
    })
    const usage = this.usage.total()
    if (usage !== undefined) events.push({ type: 'usage', usage })
  }

  /**
   * Tool calls end the turn, whatever else a server gives as its reason. If a call was announced but never
   * sent, the answer ends with what else there is.
   */
  #reason (): FinishReason {
    const reason = this.#finish ?? 'stop'
    if (this.#calls > 0) return isCut(reason) ? reason : 'tool_calls'
    if (reason !== 'tool_calls') return reason
    if (this.#textLength === 0) throw invalidResponse('the stop_reason names a tool call, and there is none')
    return 'stop'
  }

  /** Returns true if the block was already announced: servers may repeat the event. */
  #isOpen (index: number | undefined, { id }: WireBlock): boolean {
    const open = this.#blocks.get(index)
    return open?.type === 'tool_use' && id !== undefined && open.wireId === id
  }

  #blockFor (index: number | undefined, type: OpenBlock['type']): OpenBlock | undefined {
    const open = this.#blocks.get(index)
    return open?.type === type ? open : [...this.#blocks.values()].findLast(block => block.type === type)
  }

  /** Opens a block that was never announced; its first delta reveals the type. */
  #startUnannounced (index: number | undefined, type: OpenBlock['type']): OpenBlock {
    if (type === 'tool_use') throw invalidResponse('arguments of a call that was not announced')
    const open: OpenBlock = type === 'text'
      ? { type, startIndex: this.#textLength, citations: [] }
      : { type, thinking: '', signature: '' }
    // Another type's block may be open at this index.
    const free = this.#blocks.has(index) ? -this.#blocks.size : index
    this.#retained.add(0)
    this.#seenIndexes.add(free)
    this.#blocks.set(free, open)
    return open
  }

  #addText (value: unknown, events: ChatEvent[]): void {
    const text = nonEmptyText(value)
    if (text === undefined) return
    this.#textLength += text.length
    events.push({ type: 'text-delta', choice, text })
  }

  /** Call indexes are counted separately from block indexes. */
  #startCall (index: number | undefined, block: WireBlock, events: ChatEvent[]): void {
    const name = nonEmptyText(block.name)
    if (name === undefined) throw invalidResponse('a tool call without a name')
    if (this.#kind === 'legacy' && this.#calls > 0) return
    if (this.#calls >= maxCalls) throw invalidResponse(`more than ${maxCalls} tool calls`)
    const call = this.#calls++
    this.#blocks.set(index, {
      type: 'tool_use',
      call,
      wireId: block.id,
      input: block.input,
      text: '',
      isStreamed: false,
      names: replacedNames(this.#request, name)
    })
    const id = this.#kind === 'legacy' ? '' : uniqueCallId(nonEmptyText(block.id), this.#ids)
    events.push({ type: 'tool-call-start', choice, callIndex: call, id, name, kind: this.#kind })
  }
}

function isCut (reason: FinishReason | undefined): boolean {
  return reason === 'length' || reason === 'content_filter'
}

function addThinking (open: { thinking: string }, value: unknown, events: ChatEvent[]): void {
  const text = nonEmptyText(value)
  if (text === undefined) return
  open.thinking += text
  events.push({ type: 'reasoning-delta', choice, text })
}

/** Returns the web pages that a text block cites; each citation covers the entire block. */
function annotationsOf (
  citations: ReadonlyArray<WireCitation | undefined>, startIndex: number, endIndex: number
): unknown[] {
  return citations.flatMap(citation => {
    const url = nonEmptyText(citation?.url)
    if (citation?.type !== 'web_search_result_location' || url === undefined) return []
    const title = nonEmptyText(citation.title) ?? ''
    return [
      { type: 'url_citation', url_citation: { start_index: startIndex, end_index: endIndex, url, title } }
    ]
  })
}
