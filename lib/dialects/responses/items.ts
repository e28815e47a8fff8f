/**
 * Converts items to the messages of a conversation. Adjacent output items (text, reasoning, calls) form one
 * assistant message, because providers treat them as one turn; tool results follow, then their images.
 * Between calls and results, output items are added to the assistant message, and other messages are moved
 * after the last result.
 */

import { addReasoningDetails } from '../../chat/reasoning-details.ts'
import { toThinkingBlock } from '../../chat/reasoning-item.ts'
import { nameTools, toolKey, type NamedTool } from '../../chat/tool-names.ts'
import { TextPhases, TurnOrder } from '../../chat/turn-order.ts'
import { type GatewayError, invalidValue, unsupportedValue } from '../../core/errors.ts'
import { append } from '../../json/append.ts'
import { property, type JsonObject } from '../../json/type-guards.ts'
import { shorten } from '../../text/shorten.ts'
import { toolResultText } from '../tool-result-text.ts'
import { isPacked } from '../../json/packed-fields.ts'
import { reasoningText, unpackReasoning } from './reasoning-state.ts'
import type { Approvals } from './approvals.ts'
import type { ApprovedCall, ServerCall } from '../../chat/input.ts'
import type { SentNames } from './sent-names.ts'
import {
  hostedItemTypes,
  type InputItem,
  type InputPart,
  type MessageItem,
  type MessagePart,
  type ReasoningItem
} from '../../../schemas/response-items.ts'
import type { AssistantPart, Message, TextPart, ToolCall, UserPart } from '../../../schemas/messages.ts'

type Item<T extends string> = Extract<InputItem, { readonly type: T }>

export interface Conversation {
  readonly messages: readonly Message[]
  /** Where messages, parts and calls came from. */
  readonly places: ReadonlyMap<object, string>
  /** Calls of server tools. */
  readonly serverCalls: readonly ServerCall[]
  /** Approved calls that have not run. */
  readonly approved: readonly ApprovedCall[]
  /** Servers whose tools are listed. */
  readonly listed: ReadonlySet<string>
}

/** An assistant message under construction. */
interface Turn {
  role: 'assistant'
  content?: AssistantPart[]
  tool_calls?: ToolCall[]
  thinking_blocks?: Array<Record<string, unknown>>
  reasoning_details?: JsonObject[]
  reasoning_content?: string
}

/**
 * Converts the items of a request; skips items of OpenAI's hosted tools.
 *
 * @param earlier items of the continued conversation. Default: none
 * @param checked calls whose approvals were found to be theirs before guards replaced texts. Default: none
 * @throws GatewayError `invalid_value` naming the item: a call without its result, a result without its call,
 *   or a part that only OpenAI supports
 */
export function readItems (
  items: readonly InputItem[],
  names: SentNames,
  approvals: Approvals,
  earlier: readonly InputItem[] = [],
  checked: readonly ApprovedCall[] = []
): Conversation {
  return new Reader(names, approvals, [...earlier, ...items], checked).read(items, earlier)
}

interface ClientCall {
  readonly name: string
  /** Arguments as JSON. */
  readonly text: string
  readonly path: string
}

class Reader {
  readonly #names: SentNames
  readonly #messages: Message[] = []
  readonly #places = new Map<object, string>()
  #turn: Turn | undefined
  #order = new TurnOrder()
  #phases = new TextPhases()
  /** Fields that belong to the next call of the turn. */
  #callFields: Readonly<Record<string, unknown>> = {}
  /** Images of results: not every provider accepts them in a tool message. */
  #images: UserPart[] = []
  /** Messages between calls and results, which providers only accept after the results. */
  #waiting: Message[] = []
  /** Calls without a result, with the path of each. */
  readonly #openCalls = new Map<string, string>()

  /** Calls of `clientTools` without output. */
  readonly #clientCalls = new Map<string, ClientCall>()

  readonly #approvals: Approvals
  readonly #checked: ReadonlyMap<string, ApprovedCall>
  /** Provider names of server tools, by `toolKey`. */
  readonly #serverNames = new Map<string, string>()
  readonly #serverCalls: ServerCall[] = []
  readonly #approved: ApprovedCall[] = []
  readonly #listed = new Set<string>()
  /** Approval requests; the decision on each (a single refusal wins); and those whose calls have run. */
  readonly #requests = new Set<string>()
  readonly #consents = new Map<string, Item<'mcp_approval_response'>>()
  readonly #run = new Set<string>()

  constructor (
    names: SentNames,
    approvals: Approvals,
    all: readonly InputItem[],
    checked: readonly ApprovedCall[]
  ) {
    this.#names = names
    this.#approvals = approvals
    this.#checked = new Map(checked.map(call => [call.id, call]))
    let serverTools: Map<string, NamedTool<string>> | undefined
    for (const item of all) {
      if (!('type' in item)) continue
      if (item.type === 'mcp_approval_response') {
        if (this.#consents.get(item.approval_request_id)?.approve !== false) {
          this.#consents.set(item.approval_request_id, item)
        }
      } else if (item.type === 'mcp_call' || item.type === 'mcp_approval_request') {
        const { server_label: server, name: tool } = item
        const key = toolKey(server, tool)
        serverTools ??= new Map()
        serverTools.set(key, { server, tool, value: key })
        if (item.type === 'mcp_call' && typeof item.approval_request_id === 'string') {
          this.#run.add(item.approval_request_id)
        }
      }
    }
    if (serverTools === undefined) return
    for (const [name, key] of nameTools([...serverTools.values()], names.all())) {
      this.#serverNames.set(key, name)
    }
  }

  read (items: readonly InputItem[], earlier: readonly InputItem[]): Conversation {
    for (const item of earlier) this.#item(item, continued)
    for (const [index, item] of items.entries()) this.#item(item, `input[${index}]`)
    const [open] = this.#openCalls
    if (open !== undefined) {
      const [id, path] = open
      throw invalidValue(
        'input',
        `No tool output found for function call ${shorten(id)}${path === continued ? '' : ` (\`${path}\`)`}.`
      )
    }
    return {
      messages: this.#messages,
      places: this.#places,
      serverCalls: this.#serverCalls,
      approved: this.#approved,
      listed: this.#listed
    }
  }

  #item (item: InputItem, path: string): void {
    if (!('type' in item) || item.type === undefined || item.type === null) {
      if ('role' in item) return this.#message(item, path)
      throw notFound(item.id)
    }
    switch (item.type) {
      case 'message':
        return this.#message(item, path)
      case 'reasoning':
        return this.#reasoning(item, path)
      case 'function_call':
        return this.#call(item.call_id, this.#names.sent(item.name, item.namespace), item.arguments, path)
      case 'custom_tool_call':
        return this.#call(
          item.call_id,
          this.#names.sent(item.name, item.namespace),
          JSON.stringify({ input: item.input }),
          path
        )
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.#output(item, path)
      case 'mcp_call':
        return this.#mcpCall(item, path)
      case 'mcp_list_tools':
        this.#listed.add(item.server_label)
        return
      case 'mcp_approval_request':
        return this.#approvalRequest(item, path)
      case 'mcp_approval_response':
        if (this.#requests.has(item.approval_request_id)) return
        throw invalidValue('input', `Approval request with id '${shorten(item.approval_request_id)}' not found.`)
      case 'item_reference': throw notFound(item.id)
      case 'additional_tools': return
      default:
        if (hostedItemTypes.includes(item.type)) return this.#clientCall(item.type, item, path)
        throw unsupportedValue(`${path}.type`, 'Items of this type are not available with this model.')
    }
  }

  #message ({ role, content, phase }: MessageItem, path: string): void {
    if (role === 'assistant') return this.#assistantText(content, path, phase)
    const message: Message =
      role === 'user'
        ? {
            role,
            content:
              typeof content === 'string'
                ? content
                : content.map((part, index) => this.#userPart(part, `${path}.content[${index}]`))
          }
        : {
            role,
            content:
              typeof content === 'string'
                ? content
                : content.map((part, index) => textPart(part, `${path}.content[${index}]`))
          }
    this.#places.set(message, path)
    if (this.#openCalls.size > 0) {
      this.#waiting.push(message)
      return
    }
    this.#turn = undefined
    this.#callFields = {}
    this.#messages.push(message)
  }

  #userPart (part: MessagePart | InputPart, path: string): UserPart {
    const read = userPart(part, path)
    this.#places.set(read, path)
    return read
  }

  #assistantText (content: MessageItem['content'], path: string, phase: MessageItem['phase']): void {
    const turn = this.#currentTurn(path)
    const parts =
      typeof content === 'string'
        ? [{ type: 'text' as const, text: content }]
        : content.map(assistantPart(path))
    for (const [index, part] of parts.entries()) {
      this.#places.set(part, typeof content === 'string' ? `${path}.content` : `${path}.content[${index}]`)
    }
    const said = parts.filter(part => part.type !== 'text' || part.text !== '')
    this.#order.add('text', said.length)
    this.#phases.add(phase, said.length)
    Object.assign(turn, this.#phases.field) // later texts are added to the same list
    if (said.length > 0) append(turn.content ??= [], said)
  }

  #reasoning (item: ReasoningItem, path: string): void {
    const { id, summary, encrypted_content: content } = item
    const turn = this.#currentTurn(path)
    const text = (summary ?? []).map(part => part.text).join('\n\n') || reasoningText(item)
    const state = typeof content === 'string' ? unpackReasoning(content) : undefined
    const blocks = typeof content === 'string' && !isPacked(content)
      ? [toThinkingBlock(id ?? '', content, text)]
      : state?.blocks ?? []
    this.#order.add('thinking', blocks.length)
    if (blocks.length > 0) append(turn.thinking_blocks ??= [], blocks)
    Object.assign(turn, this.#order.field) // later parts of the turn are added to the same list
    if (state?.details !== undefined) addReasoningDetails(turn.reasoning_details ??= [], state.details)
    if (state?.callFields !== undefined) this.#callFields = state.callFields
    if (text !== '') {
      turn.reasoning_content =
        turn.reasoning_content === undefined ? text : `${turn.reasoning_content}\n\n${text}`
    }
  }

  #call (id: string, name: string, text: string, path: string): void {
    const turn = this.#currentTurn(path)
    const call: ToolCall = { ...this.#callFields, id, type: 'function', function: { name, arguments: text } }
    this.#callFields = {}
    this.#order.add('call')
    const calls = turn.tool_calls ??= []
    calls.push(call)
    this.#places.set(call, path)
    this.#openCalls.set(id, path)
  }

  /** Adds a call that the caller ran, once its output arrives. Skips records of hosted tools. */
  #clientCall (type: string, item: InputItem, path: string): void {
    const id = property(item, 'call_id') ?? property(item, 'id')
    if (typeof id !== 'string') return
    const tool = clientTools.get(type)
    if (tool !== undefined) {
      const text = JSON.stringify(property(item, tool.input) ?? {})
      this.#clientCalls.set(id, { name: tool.name, text, path })
      return
    }
    const call = this.#clientCalls.get(id)
    if (call === undefined || !type.endsWith('_call_output')) return
    this.#clientCalls.delete(id)
    this.#call(id, call.name, call.text, call.path)
    const output = property(item, 'output') ?? property(item, 'status')
    this.#result(id, typeof output === 'string' ? output : JSON.stringify(output ?? ''), path)
  }

  /** Adds a call of a server tool. */
  #serverCall (call: ServerCall, text: string, path: string): void {
    const { id, serverName, toolName } = call
    this.#serverCalls.push(call)
    this.#call(id, this.#serverNames.get(toolKey(serverName, toolName)) ?? toolName, text, path)
  }

  #output (item: Item<'function_call_output' | 'custom_tool_call_output'>, path: string): void {
    const { call_id: id, output } = item
    if (!this.#openCalls.has(id)) {
      throw invalidValue(
        'input',
        `No tool call found for the output with call_id ${shorten(id)} (\`${path}\`).`
      )
    }
    this.#result(id, typeof output === 'string' ? output : this.#outputText(id, output, path), path)
  }

  /** Adds the result of a call. The last result ends the turn and releases waiting messages. */
  #result (id: string, content: string, path: string): void {
    const message: Message = { role: 'tool', tool_call_id: id, content }
    this.#places.set(message, path)
    this.#messages.push(message)
    this.#openCalls.delete(id)
    if (this.#openCalls.size > 0) return
    this.#turn = undefined
    if (this.#images.length > 0) {
      this.#messages.push({ role: 'user', content: this.#images })
      this.#images = []
    }
    if (this.#waiting.length > 0) {
      append(this.#messages, this.#waiting)
      this.#waiting = []
    }
  }

  #outputText (id: string, output: readonly InputPart[], path: string): string {
    return toolResultText(
      id,
      output.map((part, index) => this.#userPart(part, `${path}.output[${index}]`)),
      this.#images
    )
  }

  /** Replays a call that the gateway ran in an earlier answer. */
  #mcpCall (
    { id, server_label: label, name, arguments: text, output, error }: Item<'mcp_call'>,
    path: string
  ): void {
    const callId = typeof id === 'string' ? id : `mcp_${this.#messages.length}`
    this.#serverCall({ id: callId, serverName: label, toolName: name }, text, path)
    this.#result(callId, typeof output === 'string' ? output : JSON.stringify(error ?? ''), path)
  }

  /**
   * Adds a call that waits for approval, once its outcome is known. A repeated request is not a second call.
   */
  #approvalRequest (
    { id, server_label: label, name, arguments: text }: Item<'mcp_approval_request'>,
    path: string
  ): void {
    if (this.#requests.has(id)) return
    this.#requests.add(id)
    const consent = this.#consents.get(id)
    if (consent === undefined || this.#run.has(id)) return
    const checked = this.#checked.get(id)
    if (consent.approve && checked === undefined && !this.#approvals.isFor(id, label, name, text)) {
      throw invalidValue(
        'input',
        `The approval '${shorten(id)}' does not match this call: server, tool and arguments must be the ones that were approved.`
      )
    }
    const call = { id, serverName: label, toolName: name }
    this.#serverCall(call, text, path)
    const reason = typeof consent.reason === 'string' ? ` ${consent.reason}` : ''
    this.#result(id, consent.approve ? '' : `The user did not approve this call.${reason}`, path)
    // what was approved runs, though guards masked it for the provider
    if (consent.approve) this.#approved.push(checked ?? { ...call, argumentsText: text })
  }

  /** @param path of the item that starts the turn unless there is one */
  #currentTurn (path: string): Turn & Message {
    if (this.#turn === undefined) {
      this.#turn = { role: 'assistant' }
      this.#places.set(this.#turn, path)
      this.#order = new TurnOrder()
      this.#phases = new TextPhases()
      this.#messages.push(this.#turn)
    }
    return this.#turn
  }
}

/** Tools of OpenAI that callers run, by type of call; `input` is the member with the action. */
const clientTools = new Map([
  ['local_shell_call', { name: 'local_shell', input: 'action' }],
  ['shell_call', { name: 'shell', input: 'action' }],
  ['apply_patch_call', { name: 'apply_patch', input: 'operation' }]
])

/** Place of the items of the continued conversation. */
export const continued = 'previous_response_id'

function userPart (part: MessagePart | InputPart, path: string): UserPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text }
    case 'refusal': return { type: 'text', text: part.refusal }
    case 'input_image': {
      const { image_url: url, detail } = part
      if (typeof url !== 'string') {
        throw unsupportedValue(
          `${path}.file_id`,
          'Images by file id are not available with this model. Send `image_url`.'
        )
      }
      return {
        type: 'image_url',
        image_url: {
          url,
          ...typeof detail === 'string' && { detail: detail === 'original' ? 'high' : detail }
        }
      }
    }
    case 'input_file': {
      const { file_data: data, file_url: url, file_id: id, filename } = part
      if (typeof data !== 'string' && typeof id !== 'string') {
        if (typeof url !== 'string') throw invalidValue(path, 'A file needs `file_data`, `file_url` or `file_id`.')
        return { type: 'file', file: { file_data: url, ...typeof filename === 'string' && { filename } } }
      }
      return {
        type: 'file',
        file: {
          // Of bare base64, the name tells the type.
          ...typeof data === 'string' && {
            file_data: data.startsWith('data:') || !isPdf(filename)
              ? data
              : `data:application/pdf;base64,${data}`
          },
          ...typeof id === 'string' && { file_id: id },
          ...typeof filename === 'string' && { filename }
        }
      }
    }
    default: throw unsupportedValue(`${path}.type`, 'Parts of this type are not available with this model.')
  }
}

/** Returns true for a file that is a PDF by its name, or has none. */
function isPdf (filename: string | null | undefined): boolean {
  return !filename || /\.pdf$/i.test(filename)
}

function textPart (part: MessagePart, path: string): TextPart {
  if (part.type === 'input_text' || part.type === 'output_text') return { type: 'text', text: part.text }
  throw invalidValue(`${path}.type`, 'System and developer messages may contain only text.')
}

function assistantPart (path: string) {
  return (part: MessagePart, index: number): AssistantPart => {
    switch (part.type) {
      case 'output_text':
      case 'input_text':
        return { type: 'text', text: part.text }
      case 'refusal':
        return { type: 'refusal', refusal: part.refusal }
      default:
        throw invalidValue(
          `${path}.content[${index}].type`,
          'Assistant messages may contain only text and refusals.'
        )
    }
  }
}

function notFound (id: string): GatewayError {
  return invalidValue('input', `Item with id '${shorten(id)}' not found.`)
}
