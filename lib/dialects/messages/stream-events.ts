/**
 * Maps chat events to stream events of this dialect, which `encode` prints and `complete` folds.
 *
 * Blocks never overlap: while the arguments of a tool call are incomplete, events for other blocks wait.
 *
 * @see https://docs.claude.com/en/docs/build-with-claude/streaming
 */

import { GatewayError } from '../../core/errors.ts'
import { charactersPerToken, costFields, type Usage } from '../../core/usage.ts'
import { addReasoningDetails } from '../../chat/reasoning-details.ts'
import { objectOf, type JsonObject } from '../../json/type-guards.ts'
import { parseBounded } from '../../json/parse-bounded.ts'
import { packFields } from '../../json/packed-fields.ts'
import { wireEnd } from './stop-reason.ts'
import { callerToolId } from './tool-call-id.ts'
import { estimatedUsage, messagesUsage } from './usage.ts'
import type { ChatEvent, ExtraFields, FinishReason, ThinkingBlock } from '../../core/events.ts'
import type { AnswerBlock, MessagesStreamEvent } from '../../../schemas/messages-answer.ts'
import type { AnswerStart } from '../dialect.ts'
import type { MessagesContext } from './input.ts'

type Delta = Extract<MessagesStreamEvent, { type: 'content_block_delta' }>['delta']

interface OpenToolCall { readonly type: 'tool_use', readonly call: number, text: string }

type CallPiece = ChatEvent & { readonly type: 'tool-call-delta' | 'tool-call-end' }

type OpenBlock = { readonly type: 'text' | 'thinking' } | OpenToolCall

/** Converts the events of one answer to stream events. Call `of` for every event in order, then `end`. */
export class StreamEvents {
  readonly #start: AnswerStart<MessagesContext>
  #into: MessagesStreamEvent[] = []
  #index = -1
  #open: OpenBlock | undefined
  /** Waiting events of later blocks in order, except pieces of calls. */
  readonly #waiting: ChatEvent[] = []
  #waitingAt = 0
  /** Waiting pieces of calls, by call. */
  readonly #pieces = new Map<number, CallPiece[]>()
  readonly #closedCalls = new Set<number>()
  /** Reasoning details, written before the next text or call. */
  #details: JsonObject[] = []
  /** Hidden reasoning, packed before the next call because its provider may need it back. */
  #hidden = ''
  /** True if the arguments of a closed call are not a JSON object. */
  #isBroken = false
  #characters = 0
  #callsTools = false
  #refusal = ''
  #reason: FinishReason | undefined
  #stopSequence: string | undefined
  #isContextFull = false
  #usage: Usage | undefined

  constructor (start: AnswerStart<MessagesContext>) {
    this.#start = start
  }

  /** Returns the first events. */
  begin (): MessagesStreamEvent[] {
    const { id, model, promptTokens = 0 } = this.#start.head
    return [{
      type: 'message_start',
      message: {
        id: id.replace(/^chatcmpl-/, 'msg_'),
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: estimatedUsage(promptTokens, 0)
      }
    }, { type: 'ping' }]
  }

  of (event: ChatEvent): MessagesStreamEvent[] {
    this.#read(event)
    return this.#take()
  }

  /**
   * Returns the index of the open text block, whose deltas may be printed without `of` and are then reported
   * to `addPrinted`.
   */
  get openText (): number | undefined {
    return this.#open?.type === 'text' ? this.#index : undefined
  }

  addPrinted (text: string): void {
    this.#characters += text.length
  }

  /**
   * Returns the last events of the answer.
   *
   * @throws GatewayError `upstream_invalid_response` if the arguments of a tool call were not a JSON object
   */
  end (): MessagesStreamEvent[] {
    while (this.#open?.type === 'tool_use') this.#closeCall(this.#open)
    this.#packDetails()
    this.#close()
    // Truncated arguments stay: the stop reason tells clients.
    if (this.#isBroken && this.#reason !== 'length' && this.#reason !== 'content_filter') {
      throw new GatewayError('upstream_invalid_response', {
        cause: 'the arguments of a tool call are not a JSON object'
      })
    }
    const { head: { promptTokens = 0 }, call } = this.#start
    this.#into.push(
      {
        type: 'message_delta',
        delta: wireEnd({
          reason: this.#reason,
          stopSequence: this.#stopSequence,
          isContextFull: this.#isContextFull,
          refusal: this.#refusal,
          callsTools: this.#callsTools
        }),
        usage: {
          ...this.#usage === undefined
            ? estimatedUsage(promptTokens, Math.ceil(this.#characters / charactersPerToken))
            : messagesUsage(this.#usage),
          ...costFields(call.options?.usageCost?.(call))
        }
      },
      { type: 'message_stop' }
    )
    return this.#take()
  }

  #take (): MessagesStreamEvent[] {
    const events = this.#into
    this.#into = []
    return events
  }

  #read (event: ChatEvent): void {
    if ('choice' in event && event.choice !== 0) return
    switch (event.type) {
      case 'choice-end':
        this.#reason = event.reason
        this.#stopSequence = event.stopSequence
        this.#isContextFull = event.isContextFull === true
        return
      case 'usage':
        this.#usage = event.usage
        return
      case 'extra':
        if (event.scope === 'message') addReasoningDetails(this.#details, event.fields['reasoning_details'])
        return
      case 'tool-call-delta':
      case 'tool-call-end':
        if (this.#open?.type === 'tool_use' && this.#open.call === event.callIndex) {
          return this.#readCall(event, this.#open)
        }
        if (this.#open?.type === 'tool_use' && !this.#closedCalls.has(event.callIndex)) this.#keepPiece(event)
        return
      default:
    }
    if (this.#open?.type === 'tool_use') {
      if (!isBlockEvent(event)) return
      // Empty arguments may still be filled.
      if (this.#isWaiting || this.#open.text === '' || !isObjectText(this.#open.text)) {
        this.#waiting.push(event)
        return
      }
      this.#closeCall(this.#open)
    }
    this.#readBlock(event)
  }

  #readBlock (event: ChatEvent): void {
    switch (event.type) {
      case 'text-delta':
        this.#addText(event.text)
        break
      case 'refusal-delta':
        this.#refusal += event.text
        this.#addText(event.text)
        break
      case 'reasoning-delta':
        this.#addThinking(event.text)
        break
      case 'thinking-block':
        this.#addThinkingBlock(event.block)
        break
      case 'tool-call-start':
        this.#startCall(event)
        break
      case 'answer-start':
      case 'audio-delta':
      case 'tool-call-delta':
      case 'tool-call-end':
      case 'annotation-delta':
      case 'extra':
      case 'choice-end':
      case 'usage':
      case 'direct-frame':
      case 'direct-answer':
      case 'tool-result':
      case 'tools-listed':
      case 'tool-approval-needed':
      case 'tool-servers-failed':
        break
      default:
        event satisfies never
    }
  }

  #readCall (event: CallPiece, open: OpenToolCall): void {
    if (event.type === 'tool-call-end') this.#closeCall(open)
    else this.#addArguments(event.text, open)
  }

  #addArguments (text: string, open: OpenToolCall): void {
    if (text === '') return
    open.text += text
    this.#characters += text.length
    this.#delta({ type: 'input_json_delta', partial_json: text })
  }

  #addText (text: string): void {
    if (text === '') return
    if (this.#open?.type !== 'text') {
      this.#packDetails()
      this.#openBlock({ type: 'text' }, { type: 'text', text: '' })
    }
    this.#characters += text.length
    this.#delta({ type: 'text_delta', text })
  }

  #addThinking (text: string): void {
    if (text === '') return
    if (this.#start.context.hidesThinking) {
      this.#hidden += text
      return
    }
    if (this.#open?.type !== 'thinking') {
      this.#openBlock({ type: 'thinking' }, { type: 'thinking', thinking: '', signature: '' })
    }
    this.#characters += text.length
    this.#delta({ type: 'thinking_delta', thinking: text })
  }

  /** Adds the signature to a block whose text was just streamed; any other block comes complete. */
  #addThinkingBlock (block: ThinkingBlock): void {
    if (block.type === 'redacted_thinking') {
      this.#openBlock(undefined, { type: 'redacted_thinking', data: block.data })
      return
    }
    const { thinking, signature = '' } = block
    if (this.#open?.type !== 'thinking') {
      if (signature === '') {
        if (this.#hidden.endsWith(thinking)) return // it came in pieces, or is empty
        if (this.#start.context.hidesThinking) return this.#addThinking(thinking)
      }
      this.#openBlock({ type: 'thinking' }, { type: 'thinking', thinking: '', signature: '' })
      this.#addThinking(thinking)
      this.#hidden = ''
    }
    if (signature !== '') this.#delta({ type: 'signature_delta', signature })
    this.#close()
  }

  #startCall ({ callIndex, id, name, extra }: ChatEvent & { readonly type: 'tool-call-start' }): void {
    // Put fields that the provider needs back into preceding blocks, because clients drop them from calls.
    if (this.#details.length > 0) this.#packDetails()
    else if (this.#hidden !== '') this.#addPacked({ reasoning_content: this.#hidden })
    if (extra !== undefined) this.#addPacked(extra)
    this.#callsTools = true
    this.#openBlock({ type: 'tool_use', call: callIndex, text: '' }, {
      type: 'tool_use', id: callerToolId(id), name: this.#start.context.toolNames.get(name) ?? name, input: {}
    })
  }

  #packDetails (): void {
    if (this.#details.length === 0) return
    this.#addPacked({ reasoning_details: this.#details })
    this.#details = []
  }

  #addPacked (fields: ExtraFields): void {
    this.#addThinkingBlock({ type: 'thinking', thinking: '', signature: packFields(fields) })
  }

  #keepPiece (piece: CallPiece): void {
    const pieces = this.#pieces.get(piece.callIndex)
    if (pieces === undefined) this.#pieces.set(piece.callIndex, [piece])
    else pieces.push(piece)
  }

  /**
   * Closes the open call and processes the events that waited for it. These may open other calls; each event
   * waits once.
   */
  #closeCall (open: OpenToolCall): void {
    this.#endCall(open)
    while (this.#isWaiting) {
      const event = this.#waiting[this.#waitingAt++]
      if (event !== undefined) this.#readBlock(event)
      if (this.#openCall === undefined) continue
      this.#readPieces(this.#openCall)
      const call = this.#openCall
      if (call === undefined) continue
      if (!this.#isWaiting || call.text === '' || !isObjectText(call.text)) return
      this.#endCall(call)
    }
  }

  get #isWaiting (): boolean {
    return this.#waitingAt < this.#waiting.length
  }

  get #openCall (): OpenToolCall | undefined {
    return this.#open?.type === 'tool_use' ? this.#open : undefined
  }

  #readPieces (open: OpenToolCall): void {
    const pieces = this.#pieces.get(open.call) ?? []
    this.#pieces.delete(open.call)
    for (const piece of pieces) {
      if (piece.type === 'tool-call-end') return this.#endCall(open)
      this.#addArguments(piece.text, open)
    }
  }

  #endCall ({ call, text }: OpenToolCall): void {
    this.#isBroken ||= !isObjectText(text)
    this.#closedCalls.add(call)
    this.#close()
  }

  /** @param open absent for a block that is complete when it starts */
  #openBlock (open: OpenBlock | undefined, block: AnswerBlock): void {
    this.#close()
    this.#into.push({ type: 'content_block_start', index: ++this.#index, content_block: block })
    this.#open = open
    if (open === undefined) this.#into.push({ type: 'content_block_stop', index: this.#index })
  }

  #delta (delta: Delta): void {
    this.#into.push({ type: 'content_block_delta', index: this.#index, delta })
  }

  #close (): void {
    if (this.#open === undefined) return
    this.#open = undefined
    this.#into.push({ type: 'content_block_stop', index: this.#index })
  }
}

/** Returns true for events that are part of a block; others have no counterpart here. */
function isBlockEvent ({ type }: ChatEvent): boolean {
  return (
    type === 'text-delta' ||
    type === 'refusal-delta' ||
    type === 'reasoning-delta' ||
    type === 'thinking-block' ||
    type === 'tool-call-start' ||
    type === 'tool-call-delta' ||
    type === 'tool-call-end'
  )
}

/** Returns true for complete arguments; clients read empty ones as `{}`. */
function isObjectText (text: string): boolean {
  if (text.trim() === '') return true
  try {
    return objectOf(parseBounded(text)) !== undefined
  } catch {
    return false
  }
}
