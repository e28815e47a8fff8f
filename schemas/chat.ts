/**
 * The request of POST /v1/chat/completions. The answer is in `chat-completion`.
 *
 * Unknown fields are accepted everywhere. A field of another provider than the chosen one is ignored, except
 * `response_format`, which some providers must refuse. Rules that compare fields are in `lib/chat/rules`.
 */

import { cacheOption, callOptions } from './call-options.ts'
import { Type, type Static } from 'typebox'
import { CallerMessage, TextPart } from './messages.ts'
import { efforts } from './efforts.ts'
import { AnyObject, Identifier, MapOf, ModelName, Nullable, OneOf, type WithoutNulls } from './nullable.ts'
import { Credential, FunctionDefinition, Tool, ToolChoice, ToolServers } from './tools.ts'

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

const Display = Nullable(OneOf(['summarized', 'omitted']), {
  description: 'Whether the thinking can be read.'
})

export const Thinking = Type.Union([
  Type.Object({
    type: Type.Literal('enabled'),
    budget_tokens: Type.Integer({ minimum: 1024 }),
    display: Display
  }),
  Type.Object({ type: Type.Literal('disabled') }),
  Type.Object({ type: Type.Literal('adaptive'), display: Display })
])

const SystemPrompt = Type.Union([
  Type.String(), Type.Array(Type.Union([Type.String(), AnyObject]))
])

const Score = Type.Number({ minimum: 0, maximum: 1 })

/** The messages and the system prompt. Precedence is in `lib/dialects/chat-completions/input`. */
const prompt = {
  messages: Nullable(Type.Union([Type.String(), Type.Array(CallerMessage)]), {
    description: 'The conversation so far; a string is one user message.'
  }),
  input: Nullable(Type.Union([Type.String(), Type.Array(CallerMessage)]), {
    description: 'The conversation in the format of the Responses API; used when `messages` is left out.'
  }),
  instructions: Nullable(SystemPrompt, {
    description: 'The system prompt; replaces every other one, including system messages.'
  }),
  system: Nullable(SystemPrompt, {
    description: 'A system prompt that goes before the conversation and its system messages.'
  }),
  system_instruction: Nullable(Type.Union([Type.String(), AnyObject]), {
    description: 'Another spelling of `system`, as text or `{ parts: [{ text }] }`; `system` wins.'
  })
}

/** How tokens are sampled, and how many. */
const sampling = {
  temperature: Nullable(Type.Number({ minimum: 0, maximum: 2 }), {
    default: 1,
    description: 'Sampling temperature: 0 is nearly deterministic. Change this or `top_p`.'
  }),
  top_p: Nullable(Type.Number({ minimum: 0, maximum: 1 }), {
    default: 1,
    description: 'Draw only from the likeliest tokens that together have this probability.'
  }),
  top_k: Nullable(Type.Integer({ minimum: 0 }), {
    description: 'Draw only from this many of the likeliest tokens; Anthropic and Google models.'
  }),
  max_completion_tokens: Nullable(Type.Integer({ minimum: 1 }), {
    description: 'Maximum number of tokens the model may write, reasoning included; wins over `max_tokens`.'
  }),
  max_tokens: Nullable(Type.Integer({ minimum: 1 }), {
    description: 'Deprecated spelling of `max_completion_tokens`.'
  }),
  presence_penalty: Nullable(Type.Number({ minimum: -2, maximum: 2 }), {
    default: 0,
    description: 'Above zero, tokens that have occurred become less likely.'
  }),
  frequency_penalty: Nullable(Type.Number({ minimum: -2, maximum: 2 }), {
    default: 0,
    description: 'Above zero, tokens become less likely the more often they have occurred.'
  }),
  logit_bias: Nullable(MapOf(Type.Number({ minimum: -100, maximum: 100 })), {
    description: 'Token id to the number added to its logit.'
  }),
  stop: Nullable(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })]), {
    description: 'Texts that end the answer; they are not part of it.'
  }),
  stop_sequences: Nullable(Type.Array(Type.String(), { maxItems: 4 }), {
    description: 'Another spelling of `stop`; read when that is left out.'
  }),
  seed: Nullable(Type.Integer(), {
    description: 'The same seed and request give the same answer, if the provider can.'
  }),
  n: Nullable(Type.Integer({ minimum: 1, maximum: 128 }), {
    default: 1, description: 'Number of answers. Must be 1 when tools of `mcp_servers` run.'
  }),
  reasoning_effort: Nullable(OneOf([...efforts]), {
    description: 'Reasoning effort. Models that do not know it get the closest one they know.'
  }),
  thinking: Nullable(Thinking, {
    description: 'Extended thinking of Anthropic models; its budget is part of the token limit.'
  }),
  prediction: Nullable(Type.Object({
    type: Type.Literal('content'),
    content: Type.Union([Type.String(), Type.Array(TextPart, { minItems: 1 })])
  }), { description: 'Text that the answer will mostly repeat, so that it can be generated faster.' })
}

/** The format of the answer and how it is sent. */
const output = {
  stream: Nullable(Type.Boolean(), {
    default: false, description: 'Send the answer as server-sent events while it is written.'
  }),
  stream_options: Nullable(Type.Object({
    include_usage: Nullable(Type.Boolean(), {
      default: false, description: 'One more chunk at the end with the tokens used.'
    }),
    include_obfuscation: Nullable(Type.Boolean(), {
      default: false, description: 'Adds random padding to each chunk, so that sizes reveal nothing.'
    }),
    include_tool_events: Nullable(Type.Boolean(), {
      default: false, description: 'Also send events for tool calls that run on the server.'
    })
  }), { description: 'Applies only with `stream`; ignored otherwise.' }),
  response_format: Nullable(ResponseFormat, {
    description: 'Free text, any JSON, or JSON of a given schema. Not every provider can.'
  }),
  verbosity: Nullable(OneOf(['low', 'medium', 'high']), {
    description: 'Verbosity of the answer.'
  }),
  modalities: Nullable(Type.Array(Type.String()), {
    default: ['text'], description: 'Kinds of output: `text`, `audio`, `image`.'
  }),
  audio: Nullable(Type.Object({
    format: OneOf(['wav', 'aac', 'mp3', 'flac', 'opus', 'pcm16']),
    voice: Type.Union([Type.String(), AnyObject])
  }), { description: 'Format and voice of a spoken answer; required when `modalities` has `audio`.' }),
  logprobs: Nullable(Type.Boolean(), {
    default: false, description: 'Also give the log probability of each token of the answer.'
  }),
  top_logprobs: Nullable(Type.Integer({ minimum: 0, maximum: 20 }), {
    description: 'Number of likely alternatives at each token; requires `logprobs`.'
  })
}

/** The tools that the model may call, and the servers that run them. */
const tools = {
  tools: Nullable(Type.Array(Tool), { description: 'Tools that the client executes.' }),
  tool_choice: Nullable(ToolChoice, {
    default: 'auto',
    description: 'Controls which tool is called. If tools run on the server, applies to the first turn.'
  }),
  parallel_tool_calls: Nullable(Type.Boolean(), {
    default: true, description: 'Let the model ask for several tool calls in one turn.'
  }),
  functions: Nullable(Type.Array(FunctionDefinition), {
    description: 'Deprecated form of `tools`.'
  }),
  function_call: Nullable(Type.Union([Type.String(), Type.Object({ name: Type.String() })]), {
    description: 'Deprecated form of `tool_choice`: `none`, `auto`, or a function.'
  }),
  mcp_servers: Nullable(ToolServers, {
    description: 'Tool servers whose tools Headgate offers and executes.'
  }),
  credentials: Nullable(Type.Union([Credential, Type.Array(Credential)]), {
    description: 'Credentials for tool servers, matched by connection name.'
  }),
  max_turns: Nullable(Type.Integer({ minimum: 1, maximum: 100 }), {
    default: 10, description: 'Maximum number of model turns of one call when tools run on the server.'
  }),
  automatic_tool_execution: Nullable(Type.Boolean(), {
    default: true,
    description: 'False: run no tool on the server and return the model\'s tool calls as they are.'
  }),
  auto_execute_tools: Nullable(Type.Boolean(), {
    default: true, description: 'Alias of `automatic_tool_execution`; false in either wins.'
  })
}

/** Fields that only some providers know. */
const providerFields = {
  generation_config: Nullable(AnyObject, {
    description: 'Google: merged over the generation config made from the other fields.'
  }),
  safety_settings: Nullable(Type.Array(Type.Object({
    category: Type.String(),
    threshold: Type.String()
  })), { description: 'Google: what to block, by category and threshold.' }),
  tool_config: Nullable(AnyObject, { description: 'Google: the mode of function calling.' }),
  disable_automatic_function_calling: Nullable(Type.Boolean(), {
    description: 'Google: return function calls instead of running tools on the server.'
  }),
  cached_content: Nullable(Type.String(), {
    description: 'Google: name of cached content to put before the conversation.'
  }),
  cachedContent: Nullable(Type.String(), { description: 'Another spelling of `cached_content`.' }),
  web_search_options: Nullable(AnyObject, { description: 'OpenAI: the built-in web search.' }),
  search_parameters: Nullable(AnyObject, { description: 'xAI: live search; no search without it.' }),
  deferred: Nullable(Type.Boolean(), {
    default: false,
    description: 'xAI: answer at once with a `request_id` under which the completion is fetched later.'
  }),
  safe_prompt: Nullable(Type.Boolean(), { description: 'Mistral: put its safety prompt first.' }),
  prompt_mode: Nullable(Type.Union([Type.String(), AnyObject]), {
    description: 'Mistral: `reasoning` adds its reasoning prompt.'
  })
}

/** On whose behalf the call is made, and how it is stored and billed. */
const bookkeeping = {
  metadata: Nullable(
    MapOf(Type.String({ maxLength: 512 }), { maxProperties: 16, propertyNames: { maxLength: 64 } }),
    { description: 'Up to 16 pairs of short texts, kept with the call.' }
  ),
  store: Nullable(Type.Boolean(), {
    default: false, description: 'Let the provider keep the answer for later use.'
  }),
  user: Identifier({
    description: 'An id of the end user. Replaced by `safety_identifier` and `prompt_cache_key`.'
  }),
  safety_identifier: Identifier({
    description: 'A stable id of the end user, preferably hashed, by which providers detect abuse.'
  }),
  prompt_cache_key: Identifier({
    description: 'Calls with the same key share the prompt cache of the provider.'
  }),
  prompt_cache_retention: Identifier({
    description: 'Time the provider caches the prompt: `in-memory` or `24h`.'
  }),
  service_tier: Nullable(
    OneOf(['auto', 'default', 'flex', 'priority', 'fast', 'scale', 'standard_only']),
    { default: 'auto', description: 'Price and speed class; the answer says which one served it. `fast` is `priority`.' }
  ),
  ...cacheOption
}

/** Hints for choosing among several models. */
const routing = {
  model_attributes: Nullable(MapOf(MapOf(Score)), {
    description:
      'Attributes of models: per model, numbers from 0 to 1 such as `intelligence`, `speed` and `cost` ' +
      '(1 is most expensive). Several models are then tried in the order in which they meet ' +
      '`agent_attributes`.'
  }),
  agent_attributes: Nullable(MapOf(Score), {
    description:
      'Requirements of this call, from 0 to 1: `complexity` asks for intelligence, `efficiency` for speed ' +
      'and ' +
      'low cost, others for the attribute of that name. Default: the most of everything in ' +
      '`model_attributes`.'
  }),
  ...callOptions,
  handoff_config: Nullable(AnyObject, { description: 'Reserved; has no effect.' })
}

const { stream: _stream, stream_options: _streamOptions, ...form } = output
const { deferred: _deferred, cachedContent: _cachedContent, ...ofProviders } = providerFields

/** Settings that a model may have as defaults: how it answers, not what it is sent or how. */
export const ModelSettings = Type.Object(
  {
    ...sampling,
    ...form,
    tools: tools.tools,
    tool_choice: tools.tool_choice,
    parallel_tool_calls: tools.parallel_tool_calls,
    ...ofProviders,
    ...bookkeeping,
    reasoning: Nullable(Type.Object({ effort: sampling.reasoning_effort }), {
      description: 'Another spelling of `reasoning_effort`, which wins.'
    }),
    attributes: Nullable(MapOf(Score), {
      description: 'Attributes of this model, as in `model_attributes`.'
    })
  },
  {
    description:
      'Fields of a chat request. Fields that apply to the entire call, such as `messages`, `stream` and ' +
      '`mcp_servers`, are refused here; unknown fields are ignored.'
  }
)

export const ModelWithSettings = Type.Object({
  model: ModelName,
  settings: Nullable(ModelSettings)
}, { description: 'A model, with defaults that apply when it is the one that is used.' })

export const ModelChoice = Type.Union([ModelName, ModelWithSettings])
export type ModelChoice = Static<typeof ModelChoice>

export const ChatRequest = Type.Object({
  model: Type.Union([ModelChoice, Type.Array(ModelChoice, { minItems: 1 })], {
    description: 'A model by its id, or several in order of preference; the first that succeeds is used.'
  }),
  ...prompt,
  ...sampling,
  ...output,
  ...tools,
  ...providerFields,
  ...bookkeeping,
  ...routing
}, { description: 'Asks for the next message of a conversation.' })

/** After `validate`: top-level nulls are removed. */
export type ChatRequest = WithoutNulls<Static<typeof ChatRequest>>
