/** The answers of POST /v1/chat/completions: complete, in chunks, or a receipt for later. */

import { Type, type Static, type TSchema } from 'typebox'
import { AnyObject, MapOf, Nullable, OneOf } from './nullable.ts'

export const FinishReason = OneOf(
  ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'],
  { description: 'Reason the model stopped.' }
)
export type FinishReason = Static<typeof FinishReason>

/** Returns a field that is always present, with null for no value. */
function orNull<T extends TSchema> (schema: T, notes: { readonly description?: string } = {}) {
  return Type.Union([schema, Type.Null()], { ...notes })
}

const Bytes = orNull(Type.Array(Type.Integer()))

export const ChatTokenLogprob = Type.Object({
  token: Type.String(),
  logprob: Type.Number(),
  bytes: Type.Optional(Bytes),
  top_logprobs: Type.Optional(Type.Array(Type.Object({
    token: Type.String(),
    logprob: Type.Number(),
    bytes: Type.Optional(Bytes)
  })))
})
export type ChatTokenLogprob = Static<typeof ChatTokenLogprob>

export const ChoiceLogprobs = Type.Object({
  content: Nullable(Type.Array(ChatTokenLogprob)),
  refusal: Nullable(Type.Array(ChatTokenLogprob))
}, { description: 'Log probabilities, one entry for each token.' })
export type ChoiceLogprobs = Static<typeof ChoiceLogprobs>

const Count = Type.Integer({ minimum: 0 })

/** Further fields of `usage`, on request. */
export const costFields = {
  cost: Type.Optional(
    Type.Union([Type.Number(), Type.Null()], {
      description: 'What the call costs in USD, with `usage: {"include": true}`; `null`: no price is known.'
    })
  ),
  cost_status: Type.Optional(
    OneOf(['estimated', 'unpriced'], { description: 'Absent for a cost that is exact.' })
  )
}

export const CompletionUsage = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  prompt_tokens_details: Type.Optional(Type.Object({
    cached_tokens: Type.Optional(Count),
    cache_write_tokens: Type.Optional(Count),
    audio_tokens: Type.Optional(Count)
  })),
  completion_tokens_details: Type.Optional(Type.Object({
    reasoning_tokens: Type.Optional(Count),
    audio_tokens: Type.Optional(Count),
    accepted_prediction_tokens: Type.Optional(Count),
    rejected_prediction_tokens: Type.Optional(Count)
  })),
  ...costFields
}, { description: 'Tokens as the provider counted them, summed over all turns of the call.' })
export type CompletionUsage = Static<typeof CompletionUsage>

const Annotation = Type.Object({
  type: Type.String({ description: '`url_citation`, or a kind that only its provider documents.' }),
  url_citation: Type.Optional(Type.Object({
    start_index: Type.Optional(Type.Integer()),
    end_index: Type.Optional(Type.Integer()),
    url: Type.String(),
    title: Type.Optional(Type.String())
  }))
}, { description: 'The source of a passage of the text.' })

export const AnswerToolCall = Type.Object({
  id: Type.String(),
  type: OneOf(['function', 'custom']),
  function: Type.Optional(Type.Object({
    name: Type.String(), arguments: Type.String({ description: 'JSON as text.' })
  })),
  custom: Type.Optional(Type.Object({ name: Type.String(), input: Type.String() })),
  extra_content: Type.Optional(AnyObject)
}, { description: 'A call of one tool: `function` or `custom` is present, as `type` says.' })
export type AnswerToolCall = Static<typeof AnswerToolCall>

const FunctionCall = Type.Object({ name: Type.String(), arguments: Type.String() }, {
  description: 'Deprecated form of a tool call.'
})

const ThinkingBlock = Type.Object({
  type: OneOf(['thinking', 'redacted_thinking']),
  thinking: Type.Optional(Type.String()),
  signature: Type.Optional(Type.String()),
  data: Type.Optional(Type.String())
})

const thinkingFields = {
  reasoning_content: Type.Optional(Type.String({ description: 'The reasoning of the model, as text.' })),
  thinking_blocks: Type.Optional(Type.Array(ThinkingBlock, {
    description: 'Reasoning as the provider signed it. Send it back unchanged.'
  }))
}

export const AnswerMessage = Type.Object({
  role: Type.Literal('assistant'),
  content: orNull(Type.String(), {
    description: 'Null when there is no text, only a tool call, a refusal or audio.'
  }),
  refusal: orNull(Type.String()),
  tool_calls: Type.Optional(
    Type.Array(AnswerToolCall, {
      description: 'Calls for the client to execute. Calls of tool servers are never listed here.'
    })
  ),
  annotations: Type.Optional(Type.Array(Annotation)),
  audio: Type.Optional(
    Type.Object({
      id: Type.String(),
      data: Type.String({ description: 'The audio in base64.' }),
      expires_at: Type.Integer(),
      transcript: Type.String()
    })
  ),
  function_call: Type.Optional(FunctionCall),
  ...thinkingFields
})
export type AnswerMessage = Static<typeof AnswerMessage>

export const serviceTiers = ['auto', 'default', 'flex', 'scale', 'priority', 'standard'] as const
export const ServiceTier = OneOf([...serviceTiers], { description: 'The tier that served the call.' })
export type ServiceTier = Static<typeof ServiceTier>

export const ToolServerFailure = Type.Object({
  message: Type.String(),
  code: Type.Optional(Type.String()),
  recommendation: Type.Optional(Type.String())
}, { description: 'Error of a tool server, with a recommendation.' })
export type ToolServerFailure = Static<typeof ToolServerFailure>

export const ToolServerResult = Type.Object({
  tool_name: Type.String(),
  server_name: Type.String(),
  arguments: AnyObject,
  is_error: Type.Boolean(),
  result: Type.Optional(Type.Unknown()),
  duration_ms: Type.Optional(Type.Number())
}, { description: 'One call of a tool.' })
export type ToolServerResult = Static<typeof ToolServerResult>

export const ToolLoopStopped = Type.Object(
  {
    reason: OneOf(['max_turns', 'deadline', 'tokens', 'budget', 'calls_per_turn', 'repeated_call']),
    turns: Type.Integer({ minimum: 1 })
  },
  {
    description:
      'Reason Headgate stopped executing tools although the model called more. Absent when it did not stop.'
  }
)
export type ToolLoopStopped = Static<typeof ToolLoopStopped>

const toolServerFields = {
  tools_executed: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Names of the tools that Headgate executed. Absent when it executed none.'
    })
  ),
  mcp_server_errors: Type.Optional(
    MapOf(ToolServerFailure, {
      description: 'Tool servers that failed, by name. Absent when none did.'
    })
  ),
  mcp_tool_results: Type.Optional(Type.Array(ToolServerResult)),
  tool_loop_stopped: Type.Optional(ToolLoopStopped)
}

const answerFields = {
  id: Type.String({ description: 'The same in every chunk of an answer.' }),
  created: Type.Integer({ description: 'Unix time in seconds.' }),
  model: Type.String({ description: 'The model that produced the answer.' }),
  service_tier: Type.Optional(ServiceTier),
  system_fingerprint: Type.Optional(Type.String())
}

export const CompletionChoice = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  message: AnswerMessage,
  finish_reason: orNull(FinishReason),
  logprobs: orNull(ChoiceLogprobs)
})
export type CompletionChoice = Static<typeof CompletionChoice>

export const ChatCompletion = Type.Object({
  ...answerFields,
  object: Type.Literal('chat.completion'),
  choices: Type.Array(CompletionChoice, {
    description: 'One for each of the `n` answers. Empty in the receipt of a deferred completion.'
  }),
  usage: Type.Optional(CompletionUsage),
  request_id: Type.Optional(Type.String({
    description: 'Only with `deferred`: fetch the completion under this id.'
  })),
  ...toolServerFields
}, { description: 'A complete answer. Fields of a provider that Headgate does not know are passed on.' })
export type ChatCompletion = Static<typeof ChatCompletion>

export const ToolCallDelta = Type.Object({
  index: Type.Integer({ minimum: 0, description: 'The call of the message this belongs to.' }),
  id: Type.Optional(Type.String()),
  type: Type.Optional(OneOf(['function', 'custom'])),
  function: Type.Optional(Type.Object({
    name: Type.Optional(Type.String()),
    arguments: Type.Optional(Type.String())
  })),
  custom: Type.Optional(Type.Object({
    name: Type.Optional(Type.String()),
    input: Type.Optional(Type.String())
  })),
  extra_content: Type.Optional(AnyObject)
}, { description: 'Id and name come once, first; the text of the arguments comes in pieces.' })
export type ToolCallDelta = Static<typeof ToolCallDelta>

export const ChunkDelta = Type.Object({
  role: Type.Optional(Type.Literal('assistant')),
  content: Type.Optional(Type.String()),
  refusal: Type.Optional(Type.String()),
  tool_calls: Type.Optional(Type.Array(ToolCallDelta)),
  annotations: Type.Optional(Type.Array(Annotation)),
  audio: Type.Optional(Type.Object({
    id: Type.Optional(Type.String()),
    data: Type.Optional(Type.String()),
    transcript: Type.Optional(Type.String()),
    expires_at: Type.Optional(Type.Integer())
  })),
  function_call: Type.Optional(Type.Object({
    name: Type.Optional(Type.String()),
    arguments: Type.Optional(Type.String())
  })),
  ...thinkingFields
}, { description: 'Content added since the previous chunk.' })
export type ChunkDelta = Static<typeof ChunkDelta>

export const ChunkChoice = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  delta: ChunkDelta,
  finish_reason: orNull(FinishReason),
  logprobs: orNull(ChoiceLogprobs)
})
export type ChunkChoice = Static<typeof ChunkChoice>

export const ToolEvent = Type.Object(
  {
    type: OneOf(['tool-start', 'tool-progress', 'tool-end']),
    id: Type.String({ description: 'The id of the call.' }),
    name: Type.String(),
    server_name: orNull(Type.String()),
    progress: Type.Optional(Type.Number()),
    total: Type.Optional(Type.Number()),
    message: Type.Optional(Type.String()),
    is_error: Type.Optional(Type.Boolean()),
    duration_ms: Type.Optional(Type.Number())
  },
  {
    description: 'Progress of a tool that Headgate executes. Sent with `stream_options.include_tool_events`.'
  }
)
export type ToolEvent = Static<typeof ToolEvent>

export const ChatCompletionChunk = Type.Object(
  {
    ...answerFields,
    object: Type.Literal('chat.completion.chunk'),
    choices: Type.Array(ChunkChoice, { description: 'Empty in the chunk that carries the usage.' }),
    usage: Nullable(CompletionUsage, {
      description: 'Only with `stream_options.include_usage`: null except in the last chunk.'
    }),
    obfuscation: Type.Optional(Type.String()),
    tool_event: Type.Optional(ToolEvent),
    ...toolServerFields
  },
  {
    description:
      'One message of a streamed answer. The stream ends with `data: [DONE]`, or with an `error` event.'
  }
)
export type ChatCompletionChunk = Static<typeof ChatCompletionChunk>

export const DeferredPending = Type.Object({
  request_id: Type.String(),
  status: Type.Literal('pending')
}, { description: 'The completion is not ready yet.' })
export type DeferredPending = Static<typeof DeferredPending>

export const DeferredCancelled = Type.Object({
  request_id: Type.String(),
  status: Type.Literal('cancelled')
}, { description: 'The completion was cancelled.' })
export type DeferredCancelled = Static<typeof DeferredCancelled>
