/**
 * Builds the upstream body from an allow-list, so that no provider sees another's parameters. Absent fields
 * stay absent.
 */

import { copyCall } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import { fitTuning } from '../../chat/effort.ts'
import { fitFunction } from '../../chat/function-schema.ts'
import { allowedTools } from '../../chat/plain-tool-choice.ts'
import { functionsAsTools } from '../../chat/legacy-functions.ts'
import { mapSame, wireConversation } from './messages.ts'
import { schemaAsInstruction } from './schema-as-instruction.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Effort } from '../../../schemas/efforts.ts'
import type { Tool } from '../../../schemas/tools.ts'
import type { AdapterInput, UpstreamRequest } from '../provider.ts'
import type { Quirks } from '../../core/provider-traits.ts'
import { jsonBody, jsonHeaders } from '../json-api.ts'

/** Fields sent with the caller's value. */
const forwarded: ReadonlySet<string> = new Set([
  'temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'seed', 'n',
  'logprobs', 'top_logprobs', 'response_format', 'verbosity', 'modalities', 'audio', 'prediction',
  'metadata', 'store', 'user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention',
  'web_search_options', 'function_call'
] as const satisfies ReadonlyArray<keyof ChatInput>)

const streamHeaders = { 'content-type': 'application/json', accept: 'text/event-stream' }

/**
 * @param body for servers whose needs quirks cannot express
 * @throws GatewayError with the name of the parameter, if this server cannot serve the request
 */
export function chatRequest (input: AdapterInput<ChatInput>, body = chatBody(input)): UpstreamRequest {
  return {
    method: 'POST',
    path: '/chat/completions',
    headers: input.streamed ? streamHeaders : jsonHeaders,
    body: jsonBody(body, input)
  }
}

export function chatBody (given: AdapterInput<ChatInput>): Record<string, unknown> {
  const { route, quirks } = given
  const request = fittedRequest(given)
  const input = request === given.request ? given : copyCall(given, { request })
  refuseUnsupported(input)
  const body: Record<string, unknown> = {
    model: route.model,
    messages: wireConversation(request.messages, quirks)
  }
  for (const field in request) {
    const value: unknown = forwarded.has(field) ? Reflect.get(request, field) : undefined
    if (value !== undefined) body[field] = value
  }
  for (const field of quirks.extraFields ?? []) {
    const value: unknown = Reflect.get(request, field)
    if (value !== undefined) body[field] = value
  }
  const { stop, service_tier: tier } = request
  if (stop !== undefined && stop.length > 0) body['stop'] = stop
  if (tier !== undefined) body['service_tier'] = tier === 'standard_only' ? 'default' : tier
  if (quirks.multipleChoices === false) delete body['n']
  addTokenLimit(body, input)
  if (request.reasoning_effort !== undefined) addReasoningEffort(body, request.reasoning_effort, quirks)
  addTools(body, input)
  if (input.streamed) addStreamOptions(body, input)
  const { safety_identifier: identifier, user = identifier } = request
  // The older name for this identifier, which more servers know.
  if (identifier !== undefined && quirks.omit?.includes('safety_identifier') === true) body['user'] = user
  for (const field of quirks.omit ?? []) delete body[field] // our own object, just created
  if (quirks.rename !== undefined) rename(body, quirks.rename)
  return body
}

function fittedRequest ({ request, route: { traits }, quirks }: AdapterInput<ChatInput>): ChatInput {
  const tuned = traits === undefined ? request : fitTuning(request, traits)
  const fitted = quirks.legacyFunctions === true ? tuned : functionsAsTools(tuned)
  return quirks.jsonSchema === false ? schemaAsInstruction(fitted) : fitted
}

function rename (body: Record<string, unknown>, names: Readonly<Record<string, string>>): void {
  for (const [field, name] of Object.entries(names)) {
    if (body[field] === undefined) continue
    body[name] = body[field]
    delete body[field]
  }
}

/**
 * Rejects fields whose absence the caller would notice: audio that this model cannot produce, and unsupported
 * `stop` (the answer would run past it). Fields that only tune the answer are dropped.
 */
function refuseUnsupported ({ request, route: { traits }, quirks }: AdapterInput<ChatInput>): void {
  const { modalities, audio, stop } = request
  const { omit = [] } = quirks
  const message = 'This model does not answer with audio.'
  if (modalities?.includes('audio') === true && omit.includes('modalities')) {
    throw new GatewayError('unsupported_parameter', { message, param: 'modalities' })
  }
  if (audio !== undefined && omit.includes('audio')) {
    throw new GatewayError('unsupported_parameter', { message, param: 'audio' })
  }
  if (traits?.stop !== false || stop === undefined || stop.length === 0) return
  throw new GatewayError('unsupported_parameter', {
    message: 'This model does not take `stop`. Leave it out, or use another model.',
    param: 'stop'
  })
}

/** Sends one token limit, under the name that the server knows; `max_completion_tokens` wins. */
function addTokenLimit (
  body: Record<string, unknown>,
  { request, route, quirks }: AdapterInput<ChatInput>
): void {
  const { max_completion_tokens: total, max_tokens: legacy } = request
  const limit = total ?? legacy
  if (limit === undefined) return
  body[quirks.tokenLimitField ?? (total === undefined ? 'max_tokens' : 'max_completion_tokens')] = Math.max(
    limit,
    route.traits?.minOutputTokens ?? 1
  )
}

function addReasoningEffort (body: Record<string, unknown>, effort: Effort, quirks: Quirks): void {
  if (quirks.reasoningEffort === 'omit') return
  if (quirks.reasoningEffort === 'object') body['reasoning'] = { effort }
  else body['reasoning_effort'] = effort
}

function addTools (body: Record<string, unknown>, { request, quirks }: AdapterInput<ChatInput>): void {
  const { tools, functions } = request
  if (functions !== undefined && functions.length > 0) body['functions'] = mapSame(functions, fitFunction)
  else if (request.function_call !== undefined) delete body['function_call']
  if (tools === undefined || tools.length === 0) return
  const custom = tools.findIndex(tool => tool.type === 'custom')
  if (custom !== -1 && quirks.customTools === false) {
    throw new GatewayError('unsupported_parameter', {
      message: 'Only function tools are supported.', param: `tools[${custom}].type`
    })
  }
  const choice = request.tool_choice
  const isNarrowed = typeof choice === 'object' && 'allowed_tools' in choice && quirks.customTools === false
  body['tools'] = mapSame(isNarrowed ? allowedTools(tools, choice, toolName) : tools, wireTool)
  if (choice !== undefined) body['tool_choice'] = isNarrowed ? choice.allowed_tools.mode : choice
  if (request.parallel_tool_calls !== undefined) body['parallel_tool_calls'] = request.parallel_tool_calls
}

function toolName (tool: Tool): string {
  return tool.type === 'custom' ? tool.custom.name : tool.function.name
}

/** A tool without `type` is a function; its schema is sent in standard spelling. */
function wireTool (tool: Tool): Tool {
  if (tool.type === 'custom') return tool
  const definition = fitFunction(tool.function)
  return tool.type !== undefined && definition === tool.function
    ? tool
    : { ...tool, type: 'function', function: definition }
}

/** Always requests usage, because every call is recorded, whether or not the caller wants it. */
function addStreamOptions (body: Record<string, unknown>, { quirks }: AdapterInput<ChatInput>): void {
  body['stream'] = true
  if (quirks.streamUsage === false) return
  body['stream_options'] = quirks.obfuscation === true
    // The gateway adds its own obfuscation when a caller asks for it.
    ? { include_usage: true, include_obfuscation: false }
    : { include_usage: true }
}
