/**
 * Maps events to response items, for both kinds of answer: streams print every change, complete answers
 * contain the finished items, so both stay consistent.
 *
 * Items are written one at a time: if a provider interleaves calls, an item waits until the previous ones are
 * done.
 */

import { addReasoningDetails } from '../../chat/reasoning-details.ts'
import { append } from '../../json/append.ts'
import type { ReplaceText } from '../../json/place-table.ts'
import type { JsonObject } from '../../json/type-guards.ts'
import { OpenToolCall } from './output/open-tool-call.ts'
import { OpenCustomCall } from './output/open-custom-call.ts'
import { OpenFunctionCall } from './output/open-function-call.ts'
import { OpenMessage } from './output/open-message.ts'
import { OpenReasoning } from './output/open-reasoning.ts'
import {
  OpenServerItem,
  failedServer,
  listedTools,
  serverCall,
  type ServerItem
} from './output/open-server-item.ts'
import type { ItemListener, OpenItem } from './output/open-item.ts'
import { responsesItemTexts } from './text-places.ts'
import type { AnswerStart } from '../dialect.ts'
import type { ResponsesContext } from './input.ts'
import type { ReasoningState } from './reasoning-state.ts'
import type { SentNames } from './sent-names.ts'
import type { Approvals } from './approvals.ts'
import type { ChatEvent, FinishReason, Logprobs, ThinkingBlock } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'
import type { ToolLoopStopped } from '../../../schemas/chat-completion.ts'
import type { OutputItem } from '../../../schemas/response-items.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'

/** Status of an answer at its end, and the reason if it is incomplete. */
export interface Ending {
  readonly status: 'completed' | 'incomplete'
  readonly reason?: 'max_output_tokens' | 'content_filter'
}

export interface OutputItemsOptions {
  readonly names: SentNames
  /** The model that answers. */
  readonly model: string
  /** True if the caller requested log probabilities. */
  readonly logprobs: boolean
  readonly approvals: Approvals
  /** Servers whose tools the conversation already lists. */
  readonly listed: ReadonlySet<string>
  /** Returns a text as the caller will see it. Default: unchanged. */
  readonly restore?: ReplaceText | undefined
}

/** Returns the options for the items of an answer. */
export function itemOptions (
  { context: { names, approvals, listed }, head, call, restore }: AnswerStart<ResponsesContext>
): OutputItemsOptions {
  return { names, approvals, listed, model: head.model, logprobs: call.request.logprobs === true, restore }
}

export class OutputItems {
  readonly #listener: ItemListener
  readonly #options: OutputItemsOptions
  /** Unfinished items in order of arrival; only the first is written. */
  readonly #line: OpenItem[] = []
  readonly #done: OutputItem[] = []
  readonly #calls = new Map<number, OpenToolCall>()
  /** Calls since the last item began that ended without complete arguments. */
  readonly #brokenOff = new Set<OpenItem>()
  /** Servers that listed their tools: what failed later are calls. */
  readonly #reached = new Set<string>()
  /** Reasoning details, written before the next message or call. */
  #details: JsonObject[] = []
  #reason: FinishReason | undefined
  #hasRefused = false
  /** Number of items that are written or have begun. */
  #count = 0
  /** Annotations of a text that has not begun. */
  #annotations: unknown[] = []
  /** Length of the answer's text so far. */
  #textLength = 0

  #toolLoopStopped: ToolLoopStopped | undefined

  usage: Usage | undefined

  constructor (listener: ItemListener, options: OutputItemsOptions) {
    this.#listener = listener
    this.#options = options
  }

  /** Returns the finished items. */
  get done (): readonly OutputItem[] {
    return this.#done
  }

  /** Returns why the tool loop was stopped, if it was. */
  get toolLoopFields (): Pick<ResponseObject, 'tool_loop_stopped'> {
    return this.#toolLoopStopped === undefined ? {} : { tool_loop_stopped: this.#toolLoopStopped }
  }

  add (event: ChatEvent): void {
    if ('choice' in event && event.choice !== 0) return
    switch (event.type) {
      case 'text-delta':
        if (event.text !== '') {
          this.#message(event.phase).write('output_text', event.text, this.#logprobsOf(event.logprobs))
          this.#textLength += event.text.length
        }
        break
      case 'refusal-delta':
        this.#hasRefused = true
        if (event.text !== '') this.#message().write('refusal', event.text, [])
        break
      case 'reasoning-delta':
        if (event.text !== '') this.#reasoning().write(event.text)
        break
      case 'thinking-block':
        this.#thinking(event.block)
        break
      case 'annotation-delta':
        this.#annotate(event.annotations)
        break
      case 'tool-call-start':
        this.#startCall(event)
        break
      case 'tool-call-delta':
        this.#calls.get(event.callIndex)?.write(event.text)
        break
      case 'tool-call-end':
        this.#endCall(this.#calls.get(event.callIndex))
        break
      case 'tool-result':
        this.#textLength = 0 // citations of the next turn count from its beginning
        this.#complete(serverCall(event.result))
        break
      case 'tools-listed':
        this.#reached.add(event.serverName)
        if (!this.#options.listed.has(event.serverName)) {
          this.#complete(listedTools(event.serverName, event.tools))
        }
        break
      case 'tool-approval-needed':
        this.#complete(this.#approvalRequest(event))
        break
      case 'tool-servers-failed':
        for (const [name, { message }] of Object.entries(event.errors)) {
          if (!this.#reached.has(name)) this.#complete(failedServer(name, message))
        }
        break
      case 'extra':
        if (event.scope === 'message') {
          addReasoningDetails(this.#details, event.fields['reasoning_details'])
        } else if (event.scope === 'answer') {
          const { tool_loop_stopped: stopped } = event.fields
          // sent by the tool loop
          if (stopped !== undefined) this.#toolLoopStopped = stopped as ToolLoopStopped
        }
        break
      case 'choice-end':
        this.#reason = event.reason
        break
      case 'usage':
        this.usage = event.usage
        break
      case 'answer-start':
      case 'audio-delta':
      case 'direct-frame':
      case 'direct-answer':
        break
      default:
        event satisfies never
    }
  }

  #approvalRequest ({
    serverName,
    toolName,
    arguments: given
  }: ChatEvent & { type: 'tool-approval-needed' }): ServerItem {
    const { approvals, restore } = this.#options
    const item = {
      type: 'mcp_approval_request',
      server_label: serverName,
      name: toolName,
      arguments: JSON.stringify(given)
    } as const
    const [shown = item] = restore === undefined ? [] : responsesItemTexts.replace([item], restore)
    return { id: approvals.idFor(serverName, toolName, item.arguments, shown.arguments), ...item }
  }

  /** Closes open items; returns how the answer ended. */
  end (): Ending {
    const ending = this.#ending()
    const last = this.#line.at(-1)
    if (last instanceof OpenReasoning && !last.ended) this.#addDetails(last)
    for (const item of this.#line.slice()) {
      const isCut = !item.ended && (item === last || this.#brokenOff.has(item))
      if (isCut && ending.status === 'incomplete') item.status = 'incomplete'
      this.#end(item)
    }
    this.#endWithDetails()
    return ending
  }

  #ending (): Ending {
    switch (this.#reason) {
      case 'length':
        return { status: 'incomplete', reason: 'max_output_tokens' }
      case 'content_filter':
        return this.#hasRefused ? { status: 'completed' } : { status: 'incomplete', reason: 'content_filter' }
      default:
        return { status: 'completed' }
    }
  }

  /** Returns the open message, or a new one if the phase differs. */
  #message (phase?: string): OpenMessage {
    const last = this.#line.at(-1)
    if (last instanceof OpenMessage && (phase === undefined || phase === last.phase)) return last
    this.#endWithDetails()
    const message = new OpenMessage(this.#listener, { phase, textStart: this.#textLength })
    this.#begin(message)
    if (this.#annotations.length > 0) message.annotate(this.#annotations.splice(0))
    return message
  }

  #reasoning (): OpenReasoning {
    const last = this.#line.at(-1)
    // an ended item may still wait for a call before it
    if (last instanceof OpenReasoning && !last.ended) return last
    const reasoning = new OpenReasoning(this.#listener, { model: this.#options.model })
    this.#begin(reasoning)
    return reasoning
  }

  /** A thinking block closes the reasoning that was streamed before it. */
  #thinking (block: ThinkingBlock): void {
    const reasoning = this.#reasoning()
    if (block.type === 'thinking' && reasoning.isEmpty && block.thinking !== '') {
      reasoning.write(block.thinking)
    }
    this.#endReasoning({ blocks: [block] })
  }

  /** Ends the current reasoning with its details. */
  #endWithDetails (): void {
    if (this.#details.length === 0) return
    const reasoning = this.#reasoning()
    this.#addDetails(reasoning)
    this.#end(reasoning)
  }

  #addDetails (reasoning: OpenReasoning): void {
    if (this.#details.length === 0) return
    reasoning.setState({ model: this.#options.model, details: this.#details })
    this.#details = []
  }

  /** Ends the current reasoning with what its provider needs back. */
  #endReasoning (state: Omit<ReasoningState, 'model'>): void {
    const reasoning = this.#reasoning()
    reasoning.setState({ model: this.#options.model, ...state })
    this.#end(reasoning)
  }

  #annotate (annotations: readonly unknown[]): void {
    const last = this.#line.at(-1)
    if (last instanceof OpenMessage) last.annotate(annotations)
    else append(this.#annotations, annotations)
  }

  #startCall ({ callIndex, id, name, kind, extra }: ChatEvent & { type: 'tool-call-start' }): void {
    this.#endWithDetails()
    if (extra !== undefined) this.#endReasoning({ callFields: extra })
    const tool = this.#options.names.declared(name)
    const item = kind === 'function' && tool.kind === 'custom'
      ? new OpenCustomCall(this.#listener, id, tool)
      : new OpenFunctionCall(this.#listener, id, tool)
    this.#calls.set(callIndex, item)
    this.#begin(item)
  }

  /**
   * Leaves a call open if its arguments are missing or incomplete: the finish reason shows later whether the
   * answer was truncated.
   */
  #endCall (call: OpenToolCall | undefined): void {
    if (call === undefined) return
    if (call.isComplete) this.#end(call)
    else this.#brokenOff.add(call)
  }

  /** Adds an item that is complete when it begins. */
  #complete (item: ServerItem): void {
    this.#endWithDetails()
    const open = new OpenServerItem(this.#listener, item)
    this.#begin(open)
    this.#end(open)
  }

  /** Queues an item, and ends items that must not overlap with it. */
  #begin (item: OpenItem): void {
    const last = this.#line.at(-1)
    if (last !== undefined && !(last instanceof OpenToolCall)) this.#end(last)
    for (const call of this.#brokenOff) this.#end(call) // the answer continued, so it was not truncated
    this.#brokenOff.clear()
    this.#line.push(item)
    if (this.#line.length === 1) item.start(this.#count++)
  }

  #end (item: OpenItem | undefined): void {
    if (item === undefined || item.ended) return
    item.ended = true
    while (this.#line[0]?.ended === true) {
      const [first] = this.#line.splice(0, 1)
      if (first !== undefined) this.#done.push(first.finish())
      this.#line[0]?.start(this.#count++)
    }
  }

  #logprobsOf (logprobs: Logprobs | undefined): readonly unknown[] {
    return this.#options.logprobs ? logprobs?.content ?? [] : []
  }
}
