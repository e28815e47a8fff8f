/** Creates the `response` object around the items of an answer. */

import type { JsonObject } from '../../json/type-guards.ts'
import { failedCode } from './errors.ts'
import { isRefused, type GatewayError } from '../../core/errors.ts'
import type { AnswerStart } from '../dialect.ts'
import { withoutCredentials } from './tools.ts'
import type { ResponsesContext } from './input.ts'
import { costFields, type Usage, type UsageCost } from '../../core/usage.ts'
import type { ResponseUsage } from '../../../schemas/response-items.ts'
import type { ResponseObject, ResponsesTool } from '../../../schemas/responses.ts'

/** Returns the response at the start of its answer: all fields are present from the start. */
export function startedResponse ({
  head,
  context: { id, request, keep, queued }
}: AnswerStart<ResponsesContext>): ResponseObject {
  const { reasoning, text } = request
  return {
    id,
    object: 'response',
    created_at: queued?.created_at ?? head.createdSeconds,
    completed_at: null,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    model: head.model,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: {
      effort: reasoning?.effort ?? null,
      summary: reasoning?.summary ?? reasoning?.generate_summary ?? null,
      ...typeof reasoning?.context === 'string' && { context: reasoning.context },
      ...typeof reasoning?.mode === 'string' && { mode: reasoning.mode }
    },
    store: keep !== undefined,
    background: request.background ?? false,
    service_tier: head.serviceTier ?? request.service_tier ?? 'auto',
    temperature: request.temperature ?? 1,
    text: { verbosity: 'medium', ...text, format: text?.format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: (request.tools ?? []).map(shownTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    usage: null,
    metadata: request.metadata ?? {},
    safety_identifier: request.safety_identifier ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    presence_penalty: 0,
    frequency_penalty: 0,
    ...request.prompt_cache_retention !== undefined && {
      prompt_cache_retention: request.prompt_cache_retention
    },
    ...request.user !== undefined && { user: request.user }
  }
}

/** Returns a tool as sent, with the fields that clients expect and without credentials. */
function shownTool (tool: ResponsesTool): JsonObject {
  const shown: JsonObject = withoutCredentials(tool)
  return tool.type === 'function'
    ? { ...shown, parameters: shown['parameters'] ?? null, strict: shown['strict'] ?? null }
    : shown
}

/** @param cost to show. Default: none */
export function responseUsage (usage: Usage, cost?: UsageCost): ResponseUsage {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedTokens ?? 0,
      cache_write_tokens: usage.cacheWriteTokens ?? 0
    },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.totalTokens,
    ...costFields(cost)
  }
}

export function failedFields (
  failure: GatewayError
): Pick<ResponseObject, 'status' | 'error'> & Partial<Pick<ResponseObject, 'incomplete_details'>> {
  return {
    status: 'failed',
    error: { code: failedCode(failure), message: failure.message },
    ...isRefused(failure) && { incomplete_details: { reason: 'content_filter' } }
  }
}
