/**
 * Translates the deprecated `functions` and `function_call` for providers that only support tools: functions
 * become tools in the request, and tool calls become a `function_call` in the answer.
 */

import type { ChatEvent } from '../core/events.ts'
import type { ChatInput } from './input.ts'
import type { AssistantMessage, Message } from '../../schemas/messages.ts'
import type { ToolChoice } from '../../schemas/tools.ts'

/** Returns true if the caller offers functions and no tools; the answer is then a `function_call`. */
export function offersFunctionsOnly ({
  tools = [],
  functions = []
}: Pick<ChatInput, 'tools' | 'functions'>): boolean {
  return tools.length === 0 && functions.length > 0
}

/**
 * Converts functions, the choice among them and calls in the history to tools; returns the same object if
 * nothing is deprecated. If a function and a tool share a name, the tool is kept.
 */
export function functionsAsTools (request: ChatInput): ChatInput {
  const messages = callsAsToolCalls(request.messages)
  if (request.functions === undefined || request.functions.length === 0) {
    return messages === request.messages ? request : { ...request, messages }
  }
  const { functions, function_call: called, ...rest } = request
  const taken = new Set(request.tools?.map(tool => tool.type === 'custom' ? undefined : tool.function.name))
  const added = functions.filter(({ name }) => !taken.has(name))
  const converted: ChatInput = {
    ...rest,
    messages,
    tools: [
      ...(request.tools ?? []),
      ...added.map(definition => ({ type: 'function' as const, function: definition }))
    ]
  }
  if (!offersFunctionsOnly(request)) return converted
  // The deprecated answer has room for one call.
  converted.parallel_tool_calls = false
  if (called !== undefined) converted.tool_choice = choiceOf(called)
  return converted
}

function choiceOf (called: NonNullable<ChatInput['function_call']>): ToolChoice {
  if (called === 'none' || called === 'auto') return called
  return { type: 'function', function: { name: typeof called === 'string' ? called : called.name } }
}

/** Deprecated calls have no id: a result belongs to the last call with its name. */
function callsAsToolCalls (messages: readonly Message[]): readonly Message[] {
  if (!messages.some(isDeprecated)) return messages
  const ids = new Map<string, string>()
  return messages.map((message, index) => {
    if (message.role === 'function') {
      return {
        role: 'tool',
        tool_call_id: ids.get(message.name) ?? idAt(index),
        content: message.content ?? ''
      }
    }
    if (message.role !== 'assistant' || !hasCall(message)) return message
    const { function_call: call, ...rest } = message
    ids.set(call.name, idAt(index))
    return {
      ...rest,
      tool_calls: [...(rest.tool_calls ?? []), { id: idAt(index), type: 'function', function: call }]
    }
  })
}

function isDeprecated (message: Message): boolean {
  return message.role === 'function' || (message.role === 'assistant' && hasCall(message))
}

function hasCall (
  message: AssistantMessage
): message is AssistantMessage & { function_call: NonNullable<AssistantMessage['function_call']> } {
  return message.function_call !== undefined && message.function_call !== null
}

/** Nine letters and digits: the strictest id rule of any provider. */
function idAt (index: number): string {
  return `call${String(index % 100_000).padStart(5, '0')}`
}

/** Converts the events of an answer with tool calls to those of a single `function_call`. */
export function asFunctionCall (events: readonly ChatEvent[]): ChatEvent[] {
  return events.flatMap((event): ChatEvent[] => {
    switch (event.type) {
      case 'tool-call-start':
        return event.callIndex === 0 ? [{ ...event, id: '', kind: 'legacy' }] : []
      case 'tool-call-delta':
        return event.callIndex === 0 ? [{ ...event, kind: 'legacy' }] : []
      case 'tool-call-end':
        return event.callIndex === 0 ? [event] : []
      case 'choice-end':
        return [event.reason === 'tool_calls' ? { ...event, reason: 'function_call' } : event]
      case 'answer-start':
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
      case 'thinking-block':
      case 'audio-delta':
      case 'annotation-delta':
      case 'extra':
      case 'usage':
      case 'direct-frame':
      case 'direct-answer':
      case 'tool-result':
      case 'tools-listed':
      case 'tool-approval-needed':
      case 'tool-servers-failed':
        return [event]
      default:
        return event satisfies never
    }
  })
}
