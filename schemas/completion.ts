/** The answer of POST /v1/chat/completions: whole, in chunks, or as a receipt for later. */

import { Type, type Static, type TSchema } from 'typebox'
import { ToolCall } from './messages.ts'
import { AnyObject, MapOf, Nullable, OneOf } from './nullable.ts'

export const FinishReason = OneOf(
  ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'],
  { description: 'Why the model stopped.' }
)

/** Always present, null where there is nothing to say. */
function orNull<T extends TSchema> (schema: T) {
  return Type.Union([schema, Type.Null()])
}

const Bytes = orNull(Type.Array(Type.Integer()))

const TokenLogprob = Type.Object({
  token: Type.String(),
  logprob: Type.Number(),
  bytes: Type.Optional(Bytes),
  top_logprobs: Type.Optional(Type.Array(Type.Object({
    token: Type.String(),
    logprob: Type.Number(),
    bytes: Type.Optional(Bytes)
  })))
})

export const ChoiceLogprobs = Type.Object({
  content: Nullable(Type.Array(TokenLogprob)),
  refusal: Nullable(Type.Array(TokenLogprob))
}, { description: 'Log probabilities, one entry per token.' })

export const CompletionUsage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  prompt_tokens_details: Nullable(Type.Object({
    cached_tokens: Nullable(Type.Integer()),
    audio_tokens: Nullable(Type.Integer())
  })),
  completion_tokens_details: Nullable(Type.Object({
    reasoning_tokens: Nullable(Type.Integer()),
    audio_tokens: Nullable(Type.Integer()),
    accepted_prediction_tokens: Nullable(Type.Integer()),
    rejected_prediction_tokens: Nullable(Type.Integer())
  }))
}, { description: 'Tokens as the provider counted them, over all turns of the call.' })
export type CompletionUsage = Static<typeof CompletionUsage>

const Annotation = Type.Object({
  type: Type.Literal('url_citation'),
  url_citation: Type.Object({
    start_index: Type.Integer(),
    end_index: Type.Integer(),
    url: Type.String(),
    title: Type.String()
  })
}, { description: 'Where a passage of the text comes from.' })

const LegacyFunctionCall = Type.Object({ name: Type.String(), arguments: Type.String() })

const thinkingFields = {
  reasoning_content: Nullable(Type.String(), { description: 'What the model thought, as text.' }),
  thinking_blocks: Nullable(Type.Array(AnyObject), {
    description: 'Thinking as the provider signed it, to be sent back unchanged.'
  })
}

export const AnswerMessage = Type.Object({
  role: Type.Literal('assistant'),
  content: orNull(Type.String()),
  refusal: orNull(Type.String()),
  tool_calls: Nullable(Type.Array(ToolCall), {
    description: 'Calls for the caller to carry out; never those of tool servers.'
  }),
  annotations: Nullable(Type.Array(Annotation)),
  audio: Nullable(Type.Object({
    id: Type.String(),
    data: Type.String({ description: 'The sound in base64.' }),
    expires_at: Type.Integer(),
    transcript: Type.String()
  })),
  function_call: Nullable(LegacyFunctionCall),
  ...thinkingFields
})

export const ServiceTier = OneOf(['auto', 'default', 'flex', 'scale', 'priority', 'standard'])

export const ToolServerFailure = Type.Object({
  message: Type.String(),
  code: Nullable(Type.String()),
  recommendation: Nullable(Type.String())
}, { description: 'Why a tool server could not help, and what to do about it.' })

export const ToolServerResult = Type.Object({
  tool_name: Type.String(),
  server_name: Type.String(),
  arguments: AnyObject,
  is_error: Type.Boolean(),
  result: Type.Optional(Type.Unknown()),
  duration_ms: Nullable(Type.Integer())
}, { description: 'One call of a tool that ran on the server.' })

const toolServerFields = {
  tools_executed: Nullable(Type.Array(Type.String()), {
    description: 'Names of the tools that ran on the server; only when some did.'
  }),
  mcp_server_errors: Nullable(MapOf(ToolServerFailure), {
    description: 'Failed tool servers by name; only when some failed.'
  }),
  mcp_tool_results: Nullable(Type.Array(ToolServerResult)),
  tool_loop_stopped: Nullable(Type.Object({
    reason: OneOf(['max_turns', 'deadline', 'tokens', 'calls_per_turn', 'repeated_call']),
    turns: Type.Integer({ minimum: 1 })
  }), {
    description: 'Why tools stopped running although the model called more; only when they did.'
  })
}

const answerFields = {
  id: Type.String({ description: 'The same in every chunk of an answer.' }),
  created: Type.Integer({ description: 'Unix time in seconds.' }),
  model: Type.String({ description: 'The model that answered.' }),
  service_tier: Nullable(ServiceTier),
  system_fingerprint: Type.Optional(Type.String())
}

export const ChatCompletion = Type.Object({
  ...answerFields,
  object: Type.Literal('chat.completion'),
  choices: Type.Array(Type.Object({
    index: Type.Integer(),
    message: AnswerMessage,
    finish_reason: orNull(FinishReason),
    logprobs: Nullable(ChoiceLogprobs)
  }), { description: 'One per asked-for answer; empty in the receipt of a deferred completion.' }),
  usage: Nullable(CompletionUsage),
  request_id: Type.Optional(Type.String({
    description: 'Only with `deferred`: fetch the completion under this id.'
  })),
  ...toolServerFields
}, { description: 'A whole answer.' })
export type ChatCompletion = Static<typeof ChatCompletion>

const ToolCallDelta = Type.Object({
  index: Type.Integer({ description: 'Which call of the message this belongs to.' }),
  id: Nullable(Type.String()),
  type: Nullable(OneOf(['function', 'custom'])),
  function: Nullable(Type.Object({
    name: Nullable(Type.String()),
    arguments: Nullable(Type.String())
  })),
  custom: Nullable(Type.Object({
    name: Nullable(Type.String()),
    input: Nullable(Type.String())
  }))
}, { description: 'Id and name come once, first; the text of the arguments in pieces.' })

const Delta = Type.Object({
  role: Nullable(Type.Literal('assistant')),
  content: Nullable(Type.String()),
  refusal: Nullable(Type.String()),
  tool_calls: Nullable(Type.Array(ToolCallDelta)),
  annotations: Nullable(Type.Array(Annotation)),
  audio: Nullable(AnyObject),
  function_call: Nullable(Type.Object({
    name: Nullable(Type.String()),
    arguments: Nullable(Type.String())
  })),
  ...thinkingFields
}, { description: 'What is new since the chunk before.' })

export const ChatCompletionChunk = Type.Object({
  ...answerFields,
  object: Type.Literal('chat.completion.chunk'),
  choices: Type.Array(Type.Object({
    index: Type.Integer(),
    delta: Delta,
    finish_reason: orNull(FinishReason),
    logprobs: Nullable(ChoiceLogprobs)
  }), { description: 'Empty in the chunk that carries the usage.' }),
  usage: Nullable(CompletionUsage),
  obfuscation: Type.Optional(Type.String()),
  ...toolServerFields
}, { description: 'One message of a streamed answer. The stream ends with `data: [DONE]`.' })
export type ChatCompletionChunk = Static<typeof ChatCompletionChunk>

export const DeferredPending = Type.Object({
  request_id: Type.String(),
  status: Type.Literal('pending')
}, { description: 'The completion is not there yet.' })
export type DeferredPending = Static<typeof DeferredPending>

export const DeferredCancelled = Type.Object({
  request_id: Type.String(),
  status: Type.Literal('cancelled')
}, { description: 'The completion will not be made.' })
export type DeferredCancelled = Static<typeof DeferredCancelled>
