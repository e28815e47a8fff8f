/**
 * POST /v1/chat/completions: sections 5, 6 and 8 of the wire contract.
 *
 * Unknown fields are accepted everywhere. A field that belongs to another provider than the
 * chosen one is ignored, except `response_format` (see `stages/route-model`).
 */

import { Type, type Static } from 'typebox'
import { Message } from './messages.ts'
import { AnyObject, Nullable, OneOf } from './nullable.ts'
import { Credential, FunctionDefinition, Tool, ToolChoice, ToolServers } from './tools.ts'

export const ModelWithSettings = Type.Object({
  model: Type.String({ minLength: 1 }),
  settings: Nullable(AnyObject)
}, { description: 'A model and the defaults that hold when it is the one that answers.' })

export const ModelChoice = Type.Union([Type.String({ minLength: 1 }), ModelWithSettings])

export const ResponseFormat = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object') }),
  Type.Object({
    type: Type.Literal('json_schema'),
    json_schema: Type.Object({
      name: Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' }),
      description: Nullable(Type.String()),
      schema: Nullable(AnyObject),
      strict: Nullable(Type.Boolean())
    })
  })
])

export const Thinking = Type.Union([
  Type.Object({ type: Type.Literal('enabled'), budget_tokens: Type.Integer({ minimum: 1024 }) }),
  Type.Object({ type: Type.Literal('disabled') }),
  Type.Object({ type: Type.Literal('adaptive') })
])

const Score = Type.Number({ minimum: 0, maximum: 1 })
const Scores = Type.Record(Type.String(), Score)

export const ChatRequest = Type.Object({
  model: Type.Union([ModelChoice, Type.Array(ModelChoice, { minItems: 1 })]),

  messages: Nullable(Type.Union([Type.String(), Type.Array(Message)])),
  input: Nullable(Type.Union([Type.String(), Type.Array(Message)])),
  instructions: Nullable(Type.Union([Type.String(), Type.Array(AnyObject)])),
  system: Nullable(Type.Union([Type.String(), Type.Array(AnyObject)])),
  system_instruction: Nullable(Type.Union([Type.String(), AnyObject])),

  temperature: Nullable(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: Nullable(Type.Number({ minimum: 0, maximum: 1 })),
  top_k: Nullable(Type.Integer({ minimum: 0 })),
  max_tokens: Nullable(Type.Integer({ minimum: 1 })),
  max_completion_tokens: Nullable(Type.Integer({ minimum: 1 })),
  presence_penalty: Nullable(Type.Number({ minimum: -2, maximum: 2 })),
  frequency_penalty: Nullable(Type.Number({ minimum: -2, maximum: 2 })),
  logit_bias: Nullable(Type.Record(Type.String(), Type.Number({ minimum: -100, maximum: 100 }))),
  stop: Nullable(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
  stop_sequences: Nullable(Type.Array(Type.String(), { maxItems: 4 })),
  seed: Nullable(Type.Integer()),
  n: Nullable(Type.Integer({ minimum: 1, maximum: 128 })),
  logprobs: Nullable(Type.Boolean()),
  top_logprobs: Nullable(Type.Integer({ minimum: 0, maximum: 20 })),

  stream: Nullable(Type.Boolean()),
  stream_options: Nullable(Type.Object({
    include_usage: Nullable(Type.Boolean()),
    include_obfuscation: Nullable(Type.Boolean()),
    include_tool_events: Nullable(Type.Boolean())
  })),

  response_format: Nullable(ResponseFormat),
  reasoning_effort: Nullable(OneOf(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])),
  thinking: Nullable(Thinking),
  verbosity: Nullable(OneOf(['low', 'medium', 'high'])),
  modalities: Nullable(Type.Array(Type.String())),
  audio: Nullable(Type.Object({
    format: OneOf(['wav', 'aac', 'mp3', 'flac', 'opus', 'pcm16']),
    voice: Type.Union([Type.String(), AnyObject])
  })),
  prediction: Nullable(Type.Object({
    type: Type.Literal('content'),
    content: Type.Union([Type.String(), Type.Array(AnyObject, { minItems: 1 })])
  })),

  tools: Nullable(Type.Array(Tool)),
  tool_choice: Nullable(ToolChoice),
  parallel_tool_calls: Nullable(Type.Boolean()),
  functions: Nullable(Type.Array(FunctionDefinition)),
  function_call: Nullable(Type.Union([Type.String(), Type.Object({ name: Type.String() })])),
  mcp_servers: Nullable(ToolServers),
  credentials: Nullable(Type.Union([Credential, Type.Array(Credential)])),
  max_turns: Nullable(Type.Integer({ minimum: 1, maximum: 100 })),
  automatic_tool_execution: Nullable(Type.Boolean()),
  auto_execute_tools: Nullable(Type.Boolean()),

  generation_config: Nullable(AnyObject),
  safety_settings: Nullable(Type.Array(Type.Object({
    category: Type.String(),
    threshold: Type.String()
  }))),
  tool_config: Nullable(AnyObject),
  disable_automatic_function_calling: Nullable(Type.Boolean()),
  cached_content: Nullable(Type.String()),
  cachedContent: Nullable(Type.String()),

  web_search_options: Nullable(AnyObject),
  search_parameters: Nullable(AnyObject),
  deferred: Nullable(Type.Boolean()),
  safe_prompt: Nullable(Type.Boolean()),
  prompt_mode: Nullable(Type.Union([Type.String(), AnyObject])),

  metadata: Nullable(Type.Record(
    Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), { maxProperties: 16 }
  )),
  store: Nullable(Type.Boolean()),
  user: Nullable(Type.String()),
  safety_identifier: Nullable(Type.String()),
  prompt_cache_key: Nullable(Type.String()),
  prompt_cache_retention: Nullable(Type.String()),
  service_tier: Nullable(
    OneOf(['auto', 'default', 'flex', 'priority', 'scale', 'standard_only'])
  ),

  model_attributes: Nullable(Type.Record(Type.String(), Scores)),
  agent_attributes: Nullable(Scores),
  guardrails: Nullable(Type.Array(AnyObject)),
  handoff_config: Nullable(AnyObject)
})

/** What the schema describes, as it arrives: a field may be null. */
type ChatRequestOnTheWire = Static<typeof ChatRequest>

/** After `validate`: a top-level null is gone. */
export type ChatRequest = {
  [K in keyof ChatRequestOnTheWire]: Exclude<ChatRequestOnTheWire[K], null>
}
