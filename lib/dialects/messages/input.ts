/** Converts a Messages API request to the shared conversation. */

import { updateCall, type ValidCall } from '../../core/call.ts'
import { GatewayError } from '../../core/errors.ts'
import { isObject, property, textOfValue } from '../../json/type-guards.ts'
import { conversationOf } from './conversation.ts'
import { messagesFieldName } from './field-name.ts'
import { isStrict } from './strict-schema.ts'
import { thinkingOf } from './thinking.ts'
import { toolChanges } from './tool-changes.ts'
import { toolChoiceOf, toolsOf } from './tools.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Route } from '../../core/route.ts'
import type { CountTokensRequest, MessagesRequest } from '../../../schemas/messages-request.ts'
import type { DialectCall } from '../dialect.ts'

/** What answers and translations need from a request in addition to its conversation. */
export interface MessagesContext {
  /** The original request. */
  readonly request: CountTokensRequest
  readonly keyId: string
  /** True if the caller wants thinking without its text. */
  readonly hidesThinking: boolean
  /** The caller's tool names by the names that providers received. */
  readonly toolNames: ReadonlyMap<string, string>
  /** Why only Anthropic can answer; absent if others can. */
  readonly untranslatable: GatewayError | undefined
  /** Routes that received the caller's own text. */
  readonly direct: { readonly routes: Set<Route> }
}

/**
 * Adds the conversation to a Messages API call. What only Anthropic understands is dropped, or recorded as
 * untranslatable if the answer would mislead without it.
 *
 * @throws GatewayError `unsupported_parameter` for a `thread` of the gateway's account that the key may not
 *   use
 */
export function messagesInput (call: ValidCall<MessagesRequest>): DialectCall<MessagesContext> {
  const { request } = call
  const { base, context } = promptOf(call)
  const {
    max_tokens: maxTokens,
    stream,
    stop_sequences: stop,
    temperature,
    top_p: topP,
    top_k: topK,
    service_tier: tier,
    cache
  } = request
  const input: Mutable<ChatInput> = Object.assign({}, base, { max_completion_tokens: maxTokens })
  if (stream === true) input.stream = stream
  if (stop !== undefined) input.stop = stop
  if (temperature !== undefined) input.temperature = temperature
  if (topP !== undefined) input.top_p = topP
  if (topK !== undefined) input.top_k = topK
  if (tier === 'standard_only') input.service_tier = tier
  if (cache !== undefined) input.cache = cache
  return updateCall(call, { context, request: input })
}

/** Adds the conversation to a token-count request. */
export function countTokensInput (call: ValidCall<CountTokensRequest>): DialectCall<MessagesContext> {
  const { base, context } = promptOf(call)
  return updateCall(call, { context, request: base })
}

function promptOf (call: ValidCall<CountTokensRequest>): {
  readonly base: ChatInput
  readonly context: MessagesContext
} {
  const { request } = call
  let untranslatable = threadRefusal(call) ?? vendorOnly(request)
  const refuse = (error: GatewayError): void => { untranslatable ??= error }
  const places = new Map<object, string>()
  const messages = conversationOf(request.system, request.messages, refuse, places)
  const { tools, names } = toolsOf(request.tools, toolChanges(request.messages, refuse), refuse, places)
  const { choice, parallel } = toolChoiceOf(request.tool_choice)
  const { thinking, output_config: output, output_format: olderFormat } = request
  return {
    context: {
      request,
      keyId: call.key.id,
      hidesThinking: thinking?.display === 'omitted',
      toolNames: names,
      untranslatable,
      direct: { routes: new Set() }
    },
    base: Object.assign(
      {
        model: request.model,
        messages,
        originalInput: { field: 'messages', places, fieldName: messagesFieldName },
        callerNames,
        asWritten: request
      } satisfies ChatInput,
      thinkingOf(request),
      formatOf(output?.format ?? olderFormat),
      tools.length > 0 && { tools: [...tools] },
      choice !== undefined && tools.length > 0 && { tool_choice: choice },
      parallel === false && tools.length > 0 && { parallel_tool_calls: false }
    )
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The caller's field names, for provider errors. */
const callerNames = {
  response_format: 'output_config.format',
  reasoning_effort: 'output_config.effort',
  max_completion_tokens: 'max_tokens',
  stop: 'stop_sequences'
}

/**
 * Rejects a thread with the code after which clients retry without it; any other error makes them give up. A
 * thread can continue any conversation of its account, so it requires the caller's own account or a permitted
 * key.
 *
 * @returns the error for providers without threads
 */
function threadRefusal ({
  request: { thread },
  key,
  headers
}: ValidCall<CountTokensRequest>): GatewayError | undefined {
  if (thread === undefined) return undefined
  const refusal = new GatewayError('unsupported_parameter', {
    message: 'thread: conversations are not kept here. Send all messages.',
    param: 'thread',
    shownCode: 'thread_unsupported_request'
  })
  if (key.providerObjects !== true && headers['x-provider-key'] === undefined) throw refusal
  return refusal
}

function vendorOnly (request: CountTokensRequest): GatewayError | undefined {
  const { mcp_servers: servers = [], context_management: management } = request
  if (servers.length > 0) return anthropicOnly('mcp_servers')
  // Its answer is a summary; a token count ignores it.
  if ('max_tokens' in request && isObject(property(request, 'compaction'))) return anthropicOnly('compaction')
  const edits = management?.['edits']
  const compacts =
    Array.isArray(edits) &&
    edits.some(edit => isObject(edit) && textOfValue(edit['type']).startsWith('compact_'))
  return compacts ? anthropicOnly('context_management.edits') : undefined
}

function anthropicOnly (param: string): GatewayError {
  return new GatewayError('unsupported_parameter', {
    message: `${param}: not supported by this model`,
    param
  })
}

function formatOf (
  format: CountTokensRequest['output_format'] | null
): Pick<ChatInput, 'response_format'> {
  if (format?.type !== 'json_schema' || !isObject(format.schema)) return {}
  return {
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'output', schema: format.schema, strict: isStrict(format.schema) }
    }
  }
}
