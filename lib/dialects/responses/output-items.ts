/**
 * Maps events to the items of a response, for both kinds of answer: streams print what happens to each item, complete
 * answers hold the finished items, so the two cannot disagree.
 *
 * Items are written one after the other: providers may write several calls at once, so an item that begins while
 * another is open waits in line until that one is done.
 */

import { isObject } from '../../json/guards.ts'
import { itemId } from './item-ids.ts'
import { sealReasoning } from './reasoning-state.ts'
import type { SentNames } from './sent-names.ts'
import type { Approvals } from './approvals.ts'
import type { ChatEvent, FinishReason, ListedServerTool, Logprobs, ThinkingBlock, ToolResult } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'
import type { OutputItem, OutputPart } from '../../../schemas/response-items.ts'

/** An event of the stream but for its number. */
export interface WireEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** The place of a part in the answer, to which its text is added piece by piece. */
export interface TextPlace {
  readonly item_id: string
  readonly output_index: number
  readonly content_index: number
}

/** Takes what happens to the items, in order. */
export interface ItemListener {
  readonly event: (event: WireEvent) => void
  /** Takes a piece of a text: by far the most frequent event. */
  readonly text: (place: TextPlace, delta: string, logprobs: readonly unknown[]) => void
}

type Message = Extract<OutputItem, { type: 'message' }>
type Reasoning = Extract<OutputItem, { type: 'reasoning' }>
type FunctionCall = Extract<OutputItem, { type: 'function_call' }>
type CustomCall = Extract<OutputItem, { type: 'custom_tool_call' }>

/** The end of an answer: its status and, where it is cut, the reason. */
export interface Ending {
  readonly status: 'completed' | 'incomplete'
  readonly reason?: 'max_output_tokens' | 'content_filter'
}

export interface OutputItemsOptions {
  readonly names: SentNames
  /** The model that answers. */
  readonly model: string
  /** True when the caller requested log probabilities. */
  readonly logprobs: boolean
  readonly approvals: Approvals
  /** Servers whose tools the conversation lists already. */
  readonly listed: ReadonlySet<string>
}

export class OutputItems {
  readonly #listener: ItemListener
  readonly #options: OutputItemsOptions
  /** Items that are not done, in the order they began; only the first is written. */
  readonly #line: OpenItem[] = []
  readonly #done: OutputItem[] = []
  readonly #calls = new Map<number, OpenCall>()
  #reason: FinishReason | undefined
  #refused = false
  /** The number of items written or being written. */
  #count = 0
  /** Annotations of a text that has not begun. */
  #annotations: unknown[] = []

  usage: Usage | undefined
  /** The reason why the tool loop was ended, if it was. */
  toolLoopStopped: unknown

  constructor (listener: ItemListener, options: OutputItemsOptions) {
    this.#listener = listener
    this.#options = options
  }

  /** Returns the items that are done. */
  get done (): readonly OutputItem[] {
    return this.#done
  }

  add (event: ChatEvent): void {
    if ('choice' in event && event.choice !== 0) return
    switch (event.type) {
      case 'text-delta':
        if (event.text !== '') this.#message().write('output_text', event.text, this.#logprobsOf(event.logprobs))
        break
      case 'refusal-delta':
        this.#refused = true
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
        this.#calls.get(event.call)?.write(event.text)
        break
      case 'tool-call-end':
        this.#end(this.#calls.get(event.call))
        break
      case 'tool-result':
        this.#complete(serverCall(event.result))
        break
      case 'tools-listed':
        if (!this.#options.listed.has(event.serverName)) this.#complete(listedTools(event.serverName, event.tools))
        break
      case 'tool-approval-needed':
        this.#complete(this.#approvalRequest(event))
        break
      case 'tool-servers-failed':
        for (const [name, { message }] of Object.entries(event.errors)) this.#complete(failedServer(name, message))
        break
      case 'extra':
        if (event.scope === 'answer') this.toolLoopStopped = event.fields['tool_loop_stopped'] ?? this.toolLoopStopped
        break
      case 'choice-end':
        this.#reason = event.reason
        break
      case 'usage':
        this.usage = event.usage
        break
      case 'response-start':
      case 'audio-delta':
    }
  }

  #approvalRequest ({ serverName, toolName, arguments: given }: ChatEvent & { type: 'tool-approval-needed' }): ServerItem {
    const text = JSON.stringify(given)
    return {
      id: this.#options.approvals.idFor(serverName, toolName, text), type: 'mcp_approval_request', server_label: serverName, name: toolName, arguments: text
    }
  }

  /** Closes what is open, and says how the answer ended. */
  end (): Ending {
    const ending = this.#ending()
    const last = this.#line.at(-1)
    for (const item of this.#line.slice()) {
      if (item === last && ending.status === 'incomplete' && !item.ended) item.status = 'incomplete'
      this.#end(item)
    }
    return ending
  }

  #ending (): Ending {
    switch (this.#reason) {
      case 'length': return { status: 'incomplete', reason: 'max_output_tokens' }
      case 'content_filter': return this.#refused ? { status: 'completed' } : { status: 'incomplete', reason: 'content_filter' }
      default: return { status: 'completed' }
    }
  }

  #message (): OpenMessage {
    const last = this.#line.at(-1)
    if (last instanceof OpenMessage) return last
    const message = new OpenMessage(this.#listener)
    this.#begin(message)
    if (this.#annotations.length > 0) message.annotate(this.#annotations.splice(0))
    return message
  }

  #reasoning (): OpenReasoning {
    const last = this.#line.at(-1)
    if (last instanceof OpenReasoning) return last
    const reasoning = new OpenReasoning(this.#listener)
    this.#begin(reasoning)
    return reasoning
  }

  /** A block closes the reasoning whose text came before it. */
  #thinking (block: ThinkingBlock): void {
    const reasoning = this.#reasoning()
    if (block.type === 'thinking' && reasoning.isEmpty && block.thinking !== '') reasoning.write(block.thinking)
    reasoning.seal({ model: this.#options.model, blocks: [block] })
    this.#end(reasoning)
  }

  #annotate (annotations: readonly unknown[]): void {
    const last = this.#line.at(-1)
    if (last instanceof OpenMessage) last.annotate(annotations)
    else this.#annotations.push(...annotations)
  }

  #startCall ({ call, id, name, kind, extra }: ChatEvent & { type: 'tool-call-start' }): void {
    if (extra !== undefined) {
      const reasoning = this.#reasoning()
      reasoning.seal({ model: this.#options.model, callFields: extra })
      this.#end(reasoning)
    }
    const tool = this.#options.names.declared(name)
    const item = kind === 'function' && tool.kind === 'custom'
      ? new OpenCustomCall(this.#listener, id, tool)
      : new OpenFunctionCall(this.#listener, id, tool)
    this.#calls.set(call, item)
    this.#begin(item)
  }

  /** Adds an item that is complete when it begins. */
  #complete (item: ServerItem): void {
    const open = new OpenServerItem(this.#listener, item)
    this.#begin(open)
    this.#end(open)
  }

  /** Puts an item in line; whatever may not go on beside another one ends. */
  #begin (item: OpenItem): void {
    const last = this.#line.at(-1)
    if (last !== undefined && !(last instanceof OpenCall)) this.#end(last)
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

/** An item that is not done. Until those before it are done, what happens to it is kept. */
abstract class OpenItem {
  readonly listener: ItemListener
  abstract readonly id: string
  /** True when nothing is added any more. */
  ended = false
  status: 'completed' | 'incomplete' = 'completed'
  outputIndex = -1
  readonly #kept: Array<() => void> = []

  constructor (listener: ItemListener) {
    this.listener = listener
  }

  /** Begins to write the item, with what was kept of it. */
  start (outputIndex: number): void {
    this.outputIndex = outputIndex
    this.listener.event({ type: 'response.output_item.added', output_index: outputIndex, item: this.opening() })
    for (const step of this.#kept) step()
  }

  /** Writes the end of the item, and returns it. */
  finish (): OutputItem {
    this.close()
    const item = this.complete()
    this.listener.event({ type: 'response.output_item.done', output_index: this.outputIndex, item })
    return item
  }

  /** Does a step at once, or when it is the item's turn. */
  protected step (step: () => void): void {
    if (this.outputIndex === -1) this.#kept.push(step)
    else step()
  }

  protected event (type: string, fields: Record<string, unknown>): void {
    this.listener.event({ type, item_id: this.id, output_index: this.outputIndex, ...fields })
  }

  protected abstract opening (): OutputItem
  protected abstract close (): void
  protected abstract complete (): OutputItem
}

class OpenMessage extends OpenItem {
  readonly id = itemId('msg')
  readonly #parts: OutputPart[] = []
  #place: TextPlace | undefined

  write (kind: OutputPart['type'], text: string, logprobs: readonly unknown[]): void {
    this.step(() => {
      const part = this.#part(kind)
      if (part.type === 'output_text') {
        part.text += text
        if (logprobs.length > 0) part.logprobs.push(...logprobs as Array<Record<string, unknown>>)
        this.listener.text(this.#placeOf(), text, logprobs)
      } else {
        part.refusal += text
        this.event('response.refusal.delta', { content_index: this.#parts.length - 1, delta: text })
      }
    })
  }

  annotate (annotations: readonly unknown[]): void {
    this.step(() => {
      const part = this.#part('output_text')
      if (part.type !== 'output_text') return
      for (const annotation of annotations.map(flatAnnotation)) {
        this.event('response.output_text.annotation.added', {
          content_index: this.#parts.length - 1, annotation_index: part.annotations.length, annotation
        })
        part.annotations.push(annotation)
      }
    })
  }

  protected opening (): Message {
    return { id: this.id, type: 'message', status: 'in_progress', role: 'assistant', content: [] }
  }

  protected close (): void {
    this.#closePart()
  }

  protected complete (): Message {
    return { id: this.id, type: 'message', status: this.status, role: 'assistant', content: this.#parts }
  }

  /** Returns the open part, a new one when it is of another kind. */
  #part (kind: OutputPart['type']): OutputPart {
    const last = this.#parts.at(-1)
    if (last?.type === kind) return last
    this.#closePart()
    this.#parts.push(emptyPart(kind))
    this.#place = undefined
    const part = emptyPart(kind)
    this.event('response.content_part.added', { content_index: this.#parts.length - 1, part })
    return this.#parts.at(-1) ?? part
  }

  #closePart (): void {
    const part = this.#parts.at(-1)
    if (part === undefined) return
    const place = { content_index: this.#parts.length - 1 }
    if (part.type === 'output_text') this.event('response.output_text.done', { ...place, text: part.text, logprobs: part.logprobs })
    else this.event('response.refusal.done', { ...place, refusal: part.refusal })
    this.event('response.content_part.done', { ...place, part })
  }

  #placeOf (): TextPlace {
    return this.#place ??= { item_id: this.id, output_index: this.outputIndex, content_index: this.#parts.length - 1 }
  }
}

class OpenReasoning extends OpenItem {
  readonly id = itemId('rs')
  #text = ''
  #sealed: string | undefined

  get isEmpty (): boolean {
    return this.#text === ''
  }

  write (text: string): void {
    const isFirst = this.isEmpty
    this.#text += text
    this.step(() => {
      if (isFirst) this.event('response.reasoning_summary_part.added', { summary_index: 0, part: { type: 'summary_text', text: '' } })
      this.event('response.reasoning_summary_text.delta', { summary_index: 0, delta: text })
    })
  }

  seal (state: Parameters<typeof sealReasoning>[0]): void {
    this.#sealed = sealReasoning(state)
  }

  protected opening (): Reasoning {
    return { id: this.id, type: 'reasoning', status: 'in_progress', summary: [] }
  }

  protected close (): void {
    if (this.isEmpty) return
    this.event('response.reasoning_summary_text.done', { summary_index: 0, text: this.#text })
    this.event('response.reasoning_summary_part.done', { summary_index: 0, part: { type: 'summary_text', text: this.#text } })
  }

  protected complete (): Reasoning {
    return {
      id: this.id,
      type: 'reasoning',
      status: this.status,
      summary: this.isEmpty ? [] : [{ type: 'summary_text', text: this.#text }],
      ...this.#sealed !== undefined && { encrypted_content: this.#sealed }
    }
  }
}

/** A call of a tool of the caller's. */
abstract class OpenCall extends OpenItem {
  abstract write (text: string): void
}

interface NamedTool {
  readonly name: string
  readonly namespace?: string
}

class OpenFunctionCall extends OpenCall {
  readonly id = itemId('fc')
  readonly #callId: string
  readonly #tool: NamedTool
  #text = ''

  constructor (listener: ItemListener, callId: string, tool: NamedTool) {
    super(listener)
    this.#callId = callId
    this.#tool = tool
  }

  write (text: string): void {
    if (text === '') return
    this.#text += text
    this.step(() => this.event('response.function_call_arguments.delta', { delta: text }))
  }

  protected opening (): FunctionCall {
    return this.#item('in_progress', '')
  }

  protected close (): void {
    if (this.#text === '') this.write('{}')
    this.event('response.function_call_arguments.done', { name: this.#tool.name, arguments: this.#text })
  }

  protected complete (): FunctionCall {
    return this.#item(this.status, this.#text)
  }

  #item (status: FunctionCall['status'], text: string): FunctionCall {
    const { name, namespace } = this.#tool
    return {
      id: this.id, type: 'function_call', status, call_id: this.#callId, name, ...namespace !== undefined && { namespace }, arguments: text
    }
  }
}

/** A call whose input came as the one argument of a function; it is written once it is complete. */
class OpenCustomCall extends OpenCall {
  readonly id = itemId('ctc')
  readonly #callId: string
  readonly #tool: NamedTool
  #text = ''

  constructor (listener: ItemListener, callId: string, tool: NamedTool) {
    super(listener)
    this.#callId = callId
    this.#tool = tool
  }

  write (text: string): void {
    this.#text += text
  }

  protected opening (): CustomCall {
    return this.#item('in_progress', '')
  }

  protected close (): void {
    const input = inputOf(this.#text)
    if (input !== '') this.event('response.custom_tool_call_input.delta', { delta: input })
    this.event('response.custom_tool_call_input.done', { input })
  }

  protected complete (): CustomCall {
    return this.#item(this.status, inputOf(this.#text))
  }

  #item (status: CustomCall['status'], input: string): CustomCall {
    const { name, namespace } = this.#tool
    return { id: this.id, type: 'custom_tool_call', status, call_id: this.#callId, name, ...namespace !== undefined && { namespace }, input }
  }
}

/** Returns the argument `input`; a model that forgot the argument has written the input itself. */
function inputOf (argumentsText: string): string {
  try {
    const value: unknown = JSON.parse(argumentsText)
    return isObject(value) && typeof value['input'] === 'string' ? value['input'] : argumentsText
  } catch {
    return argumentsText // cut off, or no JSON at all
  }
}

type ServerItem = Extract<OutputItem, { type: 'mcp_call' | 'mcp_list_tools' | 'mcp_approval_request' }>

class OpenServerItem extends OpenItem {
  readonly id: string
  readonly #item: ServerItem

  constructor (listener: ItemListener, item: ServerItem) {
    super(listener)
    this.id = item.id
    this.#item = item
  }

  protected opening (): OutputItem {
    const item = this.#item
    if (item.type === 'mcp_approval_request') return item
    return item.type === 'mcp_call'
      ? { ...item, status: 'in_progress', arguments: '', output: null, error: null }
      : { id: item.id, type: item.type, server_label: item.server_label, tools: [] }
  }

  protected close (): void {
    const item = this.#item
    if (item.type === 'mcp_approval_request') return
    this.event(`response.${item.type}.in_progress`, {})
    if (item.type === 'mcp_call') {
      this.event('response.mcp_call_arguments.delta', { delta: item.arguments })
      this.event('response.mcp_call_arguments.done', { arguments: item.arguments })
    }
    this.event(`response.${item.type}.${item.error === null || item.error === undefined ? 'completed' : 'failed'}`, {})
  }

  protected complete (): OutputItem {
    return this.#item
  }
}

function serverCall ({ toolName, serverName, arguments: given, isError, result, approvalId }: ToolResult): ServerItem {
  const text = typeof result === 'string' ? result : JSON.stringify(result ?? '')
  return {
    id: itemId('mcp'),
    type: 'mcp_call',
    status: isError ? 'failed' : 'completed',
    server_label: serverName,
    name: toolName,
    arguments: JSON.stringify(given),
    output: isError ? null : text,
    error: isError ? { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] } : null,
    ...approvalId !== undefined && { approval_request_id: approvalId }
  }
}

function listedTools (name: string, tools: readonly ListedServerTool[]): ServerItem {
  return {
    id: itemId('mcpl'),
    type: 'mcp_list_tools',
    server_label: name,
    tools: tools.map(({ name, description = null, inputSchema, annotations = null }) => ({ name, description, input_schema: inputSchema, annotations }))
  }
}

function failedServer (name: string, message: string): ServerItem {
  return { id: itemId('mcpl'), type: 'mcp_list_tools', server_label: name, tools: [], error: message }
}

function emptyPart (kind: OutputPart['type']): OutputPart {
  return kind === 'output_text' ? { type: kind, text: '', annotations: [], logprobs: [] } : { type: kind, refusal: '' }
}

/** Chat completions have `{ type: 'url_citation', url_citation: { … } }`, this API the fields side by side. */
function flatAnnotation (annotation: unknown): Record<string, unknown> {
  if (!isObject(annotation)) return { type: 'url_citation', url: '', title: '', start_index: 0, end_index: 0 }
  const { type, url_citation: citation, ...rest } = annotation
  return isObject(citation) ? { type, start_index: 0, end_index: 0, title: '', url: '', ...citation, ...rest } : annotation
}
