/**
 * Creates the requests of a tool loop: the caller's request with server tools, and then with the results of
 * each turn.
 */

import {
  availableToolChoice, namedToolChoice, relaxToolChoice, type OfferedNames
} from '../chat/tool-choice.ts'
import { toolKey } from '../chat/tool-names.ts'
import type { ChatInput } from '../chat/input.ts'
import type { Message, ToolCall, UserPart } from '../../schemas/messages.ts'
import type { OpenTools } from './tool-servers.ts'
import type { FinishedToolCall } from './run-tools.ts'

/** Returns the names of the functions that the caller runs. */
export function callerFunctions ({ tools = [], functions = [] }: ChatInput): Set<string> {
  return new Set([
    ...tools.map(tool => 'custom' in tool ? tool.custom.name : tool.function.name),
    ...functions.map(({ name }) => name)
  ])
}

/** Returns the offered names of tools, by `toolKey`. */
export function offeredNames ({ offered }: OpenTools): ReadonlyMap<string, string> {
  return new Map(offered.map(({ name, serverName, tool }) => [toolKey(serverName, tool.name), name]))
}

/**
 * Adds the server tools; calls in earlier answers and the tool choice are renamed to the offered names. If a
 * server failed, the choice may be of its tools: the call goes on without them.
 */
export function withTools (request: ChatInput, open: OpenTools): ChatInput {
  const { tools, offered } = open
  const own = callerFunctions(request)
  const names: OfferedNames = {
    of: (wanted, server) =>
      own.has(wanted) && server === undefined
        ? wanted
        : offered.find(
            ({ tool, serverName }) => tool.name === wanted && (server === undefined || serverName === server)
          )?.name,
    all: server => offered.flatMap(({ name, serverName }) => (serverName === server ? name : []))
  }
  const named = request.tool_choice && namedToolChoice(request.tool_choice, names)
  const choice = named === undefined || Object.keys(open.errors).length === 0
    ? named
    : availableToolChoice(named, name => own.has(name) || open.byName.has(name))
  const { asWritten: _, originalInput, ...translated } = request
  return {
    ...translated,
    ...originalInput !== undefined && { originalInput: { positions: request, ...originalInput } },
    messages: withOfferedNames(request, open),
    ...tools.length > 0 && { tools: [...request.tools ?? [], ...tools] },
    ...choice !== undefined && { tool_choice: choice }
  }
}

/**
 * Returns the messages with server tool calls under their offered names; tools that are not offered keep
 * their names.
 */
function withOfferedNames ({ messages, toolApproval }: ChatInput, open: OpenTools): ChatInput['messages'] {
  if (toolApproval === undefined || toolApproval.calls.length === 0) return messages
  const names = offeredNames(open)
  const byId = new Map(
    toolApproval.calls.map(({ id, serverName, toolName }) => [id, names.get(toolKey(serverName, toolName))])
  )
  const named = (call: ToolCall): ToolCall => {
    const name = byId.get(call.id)
    return name === undefined || !('function' in call) || call.function.name === name
      ? call
      : { ...call, function: { ...call.function, name } }
  }
  return messages.map(message => {
    if (message.role !== 'assistant' || !Array.isArray(message.tool_calls)) return message
    const calls = message.tool_calls.map(named)
    return calls.every((call, index) => call === message.tool_calls?.[index])
      ? message
      : { ...message, tool_calls: calls }
  })
}

/**
 * Returns the request of the next turn, after calls have run.
 *
 * @param answer the message of the last turn
 */
export function withResults (
  request: ChatInput, answer: Message, ran: readonly FinishedToolCall[]
): ChatInput {
  return {
    ...request,
    ...relaxToolChoice(request),
    messages: [...request.messages, answer, ...ran.map(asToolMessage), ...asImageMessage(ran)]
  }
}

/** Inserts the results of approved calls. */
export function withApproved (request: ChatInput, ran: readonly FinishedToolCall[]): ChatInput {
  const byId = new Map(ran.map(finished => [finished.call.id, finished]))
  return {
    ...request,
    ...relaxToolChoice(request),
    messages: [...request.messages.map((message): Message => {
      const finished = message.role === 'tool' ? byId.get(message.tool_call_id) : undefined
      return finished === undefined ? message : asToolMessage(finished)
    }), ...asImageMessage(ran)]
  }
}

function asToolMessage ({ call, outcome }: FinishedToolCall): Message {
  return { role: 'tool', tool_call_id: call.id, content: outcome?.text ?? '' }
}

/**
 * Returns the images of the results as a separate message, because not every provider accepts images in a
 * tool message.
 */
function asImageMessage (ran: readonly FinishedToolCall[]): Message[] {
  const parts = ran.flatMap(({ call, outcome }) =>
    (outcome?.images ?? []).flatMap((url, index): UserPart[] => [
      { type: 'text', text: `Image ${index + 1} of the result of ${call.name} (${call.id}):` },
      { type: 'image_url', image_url: { url } }
    ])
  )
  return parts.length === 0 ? [] : [{ role: 'user', content: parts }]
}
