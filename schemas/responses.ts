/**
 * The request and the answer of POST /v1/responses, OpenAI's Responses API.
 *
 * Unknown fields are accepted everywhere. Rules that compare items with each other are in
 * `lib/dialects/responses`.
 */

import { efforts } from './efforts.ts'
import { Type, type Static, type TProperties } from 'typebox'
import { callOptions, guardsOption } from './call-options.ts'
import { ChatRequest } from './chat.ts'
import { ToolLoopStopped } from './chat-completion.ts'
import { AnyObject, Identifier, MapOf, Nullable, OneOf, type WithoutNulls } from './nullable.ts'
import { InputItem, OutputItem, OutputPart, ResponseUsage } from './response-items.ts'
import { ToolName } from './tools.ts'
import { maxUrlLength } from './url.ts'

const FunctionTool = Type.Object({
  type: Type.Literal('function'),
  name: ToolName,
  description: Nullable(Type.String()),
  parameters: Nullable(AnyObject, { description: 'JSON schema of the arguments.' }),
  strict: Nullable(Type.Boolean())
}, { description: 'A function the model may call.' })
export type FunctionTool = Static<typeof FunctionTool>

const CustomTool = Type.Object({
  type: Type.Literal('custom'),
  name: ToolName,
  description: Nullable(Type.String()),
  format: Nullable(AnyObject)
}, { description: 'A tool with free-form input.' })
export type CustomTool = Static<typeof CustomTool>

const NamespaceTool = Type.Object({
  type: Type.Literal('namespace'),
  name: ToolName,
  description: Nullable(Type.String()),
  tools: Type.Array(Type.Union([FunctionTool, CustomTool]))
}, { description: 'Tools under a common name.' })
export type NamespaceTool = Static<typeof NamespaceTool>

const McpTool = Type.Object({
  type: Type.Literal('mcp'),
  server_label: Type.String({ minLength: 1, maxLength: 256 }),
  server_url: Nullable(Type.String({ maxLength: maxUrlLength, pattern: '^https?://' })),
  server_description: Nullable(Type.String()),
  headers: Nullable(MapOf(Type.String())),
  authorization: Nullable(Type.String()),
  allowed_tools: Nullable(Type.Union([Type.Array(Type.String()), AnyObject])),
  require_approval: Nullable(Type.Union([OneOf(['always', 'never']), AnyObject]))
}, { description: 'A tool server whose tools Headgate offers and executes.' })
export type McpTool = Static<typeof McpTool>

/** A tool that OpenAI runs itself, of any other type. */
const HostedTool = Type.Object({
  type: Type.String({ pattern: '^(?!(?:function|custom|namespace|mcp)$)[a-z0-9_-]{1,64}$' })
}, { description: 'A tool hosted by OpenAI. Other providers do not get it.' })

export const ResponsesTool = Type.Union([FunctionTool, CustomTool, NamespaceTool, McpTool, HostedTool])
export type ResponsesTool = Static<typeof ResponsesTool>

const ToolChoice = Type.Union([
  OneOf(['none', 'auto', 'required']),
  Type.Object({ type: OneOf(['function', 'custom']), name: ToolName, namespace: Nullable(Type.String()) }),
  Type.Object({ type: Type.Literal('mcp'), server_label: Type.String(), name: Nullable(Type.String()) }),
  Type.Object({
    type: Type.Literal('allowed_tools'), mode: OneOf(['auto', 'required']), tools: Type.Array(AnyObject)
  }),
  HostedTool
])
export type ResponsesToolChoice = Static<typeof ToolChoice>

const TextFormat = Type.Union([
  Type.Object({ type: OneOf(['text', 'json_object']) }),
  Type.Object({
    type: Type.Literal('json_schema'),
    name: Type.String({ maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' }),
    description: Nullable(Type.String()),
    schema: AnyObject,
    strict: Nullable(Type.Boolean())
  })
])

const includable = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs'
] as const

const chat = ChatRequest.properties

/** A value of OpenAI's, without effect at other providers. */
const reasoningOption = Nullable(Type.String({ maxLength: 64 }))

export const ResponsesRequest = Type.Object(
  {
    model: chat.model,
    input: Nullable(Type.Union([Type.String(), Type.Array(InputItem)]), {
      description: 'The conversation so far; a string is one user message.'
    }),
    instructions: Nullable(Type.String(), {
      description: 'The system prompt, before everything in `input`.'
    }),
    stream: chat.stream,
    stream_options: Nullable(Type.Object({ include_obfuscation: Nullable(Type.Boolean()) })),
    previous_response_id: Nullable(Type.String(), {
      description: 'A stored response that this one continues.'
    }),
    conversation: Nullable(Type.Unknown(), {
      description: 'A conversation kept at OpenAI; other providers have none.'
    }),
    prompt: Nullable(AnyObject, { description: 'A prompt kept at OpenAI; other providers have none.' }),
    background: Nullable(Type.Boolean(), {
      default: false,
      description: 'Return at once and run in the background.'
    }),
    store: Nullable(Type.Boolean(), {
      default: true,
      description: 'Keep the response, so that it can be fetched and continued.'
    }),
    include: Nullable(Type.Array(OneOf([...includable])), { description: 'Further data of the answer.' }),
    max_output_tokens: Nullable(Type.Integer({ minimum: 1 }), {
      description: 'Maximum number of tokens the model may write, reasoning included.'
    }),
    max_tool_calls: Nullable(Type.Integer({ minimum: 1 }), {
      description: 'Maximum number of calls of tools that Headgate executes.'
    }),
    parallel_tool_calls: Nullable(Type.Boolean(), { default: true }),
    temperature: chat.temperature,
    top_p: chat.top_p,
    top_logprobs: chat.top_logprobs,
    truncation: Nullable(OneOf(['auto', 'disabled']), { default: 'disabled' }),
    tools: Nullable(Type.Array(ResponsesTool), { description: 'Tools the model may use.' }),
    tool_choice: Nullable(ToolChoice, { default: 'auto' }),
    text: Nullable(
      Type.Object({
        format: Nullable(TextFormat),
        verbosity: Nullable(OneOf(['low', 'medium', 'high']))
      }),
      { description: 'The form of the text.' }
    ),
    reasoning: Nullable(
      Type.Object({
        effort: Nullable(OneOf([...efforts])),
        summary: Nullable(OneOf(['auto', 'concise', 'detailed'])),
        generate_summary: Nullable(OneOf(['auto', 'concise', 'detailed'])),
        context: reasoningOption,
        mode: reasoningOption
      }),
      {
        description:
          'How much the model reasons. Readable reasoning is part of the answer whenever the provider gives it.'
      }
    ),
    metadata: chat.metadata,
    service_tier: Nullable(OneOf(['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'])),
    prompt_cache_key: Identifier(),
    prompt_cache_retention: Identifier(),
    safety_identifier: Identifier(),
    user: Identifier(),
    mcp_servers: chat.mcp_servers,
    credentials: chat.credentials,
    max_turns: chat.max_turns,
    model_attributes: chat.model_attributes,
    agent_attributes: chat.agent_attributes,
    ...callOptions
  },
  { description: 'Asks for the next items of a conversation.' }
)

/** After `validate`: top-level nulls are removed. */
export type ResponsesRequest = WithoutNulls<Static<typeof ResponsesRequest>>

export const ResponseObject = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Integer({ description: 'Unix time.' }),
  completed_at: Type.Union([Type.Integer(), Type.Null()]),
  status: OneOf(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
  incomplete_details: Type.Union([
    Type.Object({ reason: OneOf(['max_output_tokens', 'content_filter']) }), Type.Null()
  ]),
  instructions: Type.Union([Type.String(), Type.Null()]),
  max_output_tokens: Type.Union([Type.Integer(), Type.Null()]),
  max_tool_calls: Type.Union([Type.Integer(), Type.Null()]),
  model: Type.String(),
  output: Type.Array(OutputItem),
  parallel_tool_calls: Type.Boolean(),
  previous_response_id: Type.Union([Type.String(), Type.Null()]),
  reasoning: Type.Object({
    effort: Type.Union([Type.String(), Type.Null()]),
    summary: Type.Union([Type.String(), Type.Null()]),
    context: Type.Optional(Type.String()),
    mode: Type.Optional(Type.String())
  }),
  store: Type.Boolean(),
  background: Type.Boolean(),
  service_tier: Type.String(),
  temperature: Type.Number(),
  text: AnyObject,
  tool_choice: Type.Union([Type.String(), AnyObject]),
  tools: Type.Array(AnyObject),
  top_logprobs: Type.Integer(),
  top_p: Type.Number(),
  truncation: OneOf(['auto', 'disabled']),
  usage: Type.Union([ResponseUsage, Type.Null()]),
  metadata: MapOf(Type.String()),
  safety_identifier: Type.Union([Type.String(), Type.Null()]),
  prompt_cache_key: Type.Union([Type.String(), Type.Null()]),
  prompt_cache_retention: Type.Optional(Type.String()),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  user: Type.Optional(Type.String()),
  tool_loop_stopped: Type.Optional(ToolLoopStopped)
}, { description: 'An answer.' })
export type ResponseObject = Static<typeof ResponseObject>

export const DeletedResponse = Type.Object({
  id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true)
}, { description: 'A stored response that is gone.' })
export type DeletedResponse = Static<typeof DeletedResponse>

export const InputTokens = Type.Object({
  object: Type.Literal('response.input_tokens'), input_tokens: Type.Integer({ minimum: 0 })
}, { description: 'Tokens of an input.' })
export type InputTokens = Static<typeof InputTokens>

export const InputItemList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(AnyObject, { description: 'Items, each with its type and an id.' }),
  first_id: Type.String({ description: 'Empty for an empty list.' }),
  last_id: Type.String(),
  has_more: Type.Boolean()
}, { description: 'One page of the items that a response was made of. Each has an id.' })
export type InputItemList = Static<typeof InputItemList>

const {
  model,
  input,
  instructions,
  previous_response_id,
  service_tier,
  prompt_cache_key,
  prompt_cache_retention
} = ResponsesRequest.properties

export const CompactRequest = Type.Object({
  model,
  input,
  instructions,
  previous_response_id,
  service_tier,
  prompt_cache_key,
  prompt_cache_retention,
  ...guardsOption
}, { description: 'Asks for items that stand for a conversation.' })
export type CompactRequest = WithoutNulls<Static<typeof CompactRequest>>

export const CompactedResponse = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('response.compaction'),
    created_at: Type.Integer({ description: 'Unix time.' }),
    output: Type.Array(AnyObject, {
      description:
        'The items that stand for the conversation: the `input` of later requests begins with them.'
    }),
    usage: ResponseUsage
  },
  { description: 'A conversation that was compacted.' }
)
export type CompactedResponse = Static<typeof CompactedResponse>

const number = Type.Integer({ minimum: 0 })
const ofItem = { item_id: Type.String(), output_index: number }
const ofPart = { ...ofItem, content_index: number }

/** Returns the events with these fields. */
function EventOf<const T extends string[], F extends TProperties> (types: [...T], fields: F) {
  return Type.Object({ type: OneOf(types), sequence_number: number, ...fields })
}

/**
 * One event of a streamed answer; the event is named by its `type`. `sequence_number` counts from 0 without
 * gaps.
 */
export const ResponseStreamEvent = Type.Union(
  [
    EventOf(
      [
        'response.created',
        'response.queued',
        'response.in_progress',
        'response.completed',
        'response.incomplete',
        'response.failed'
      ],
      { response: ResponseObject }
    ),
    EventOf(['response.output_item.added', 'response.output_item.done'], {
      output_index: number,
      item: OutputItem
    }),
    EventOf(['response.content_part.added', 'response.content_part.done'], { ...ofPart, part: OutputPart }),
    EventOf(['response.output_text.delta'], {
      ...ofPart,
      delta: Type.String(),
      logprobs: Type.Array(AnyObject)
    }),
    EventOf(['response.output_text.done'], {
      ...ofPart,
      text: Type.String(),
      logprobs: Type.Array(AnyObject)
    }),
    EventOf(['response.output_text.annotation.added'], {
      ...ofPart,
      annotation_index: number,
      annotation: AnyObject
    }),
    EventOf(['response.refusal.delta'], { ...ofPart, delta: Type.String() }),
    EventOf(['response.refusal.done'], { ...ofPart, refusal: Type.String() }),
    EventOf(['response.reasoning_summary_part.added', 'response.reasoning_summary_part.done'], {
      ...ofItem,
      summary_index: number,
      part: Type.Object({ type: Type.Literal('summary_text'), text: Type.String() })
    }),
    EventOf(['response.reasoning_summary_text.delta'], {
      ...ofItem,
      summary_index: number,
      delta: Type.String()
    }),
    EventOf(['response.reasoning_summary_text.done'], {
      ...ofItem,
      summary_index: number,
      text: Type.String()
    }),
    EventOf(
      [
        'response.function_call_arguments.delta',
        'response.custom_tool_call_input.delta',
        'response.mcp_call_arguments.delta'
      ],
      { ...ofItem, delta: Type.String() }
    ),
    EventOf(['response.function_call_arguments.done'], {
      ...ofItem,
      name: Type.String(),
      arguments: Type.String()
    }),
    EventOf(['response.custom_tool_call_input.done'], { ...ofItem, input: Type.String() }),
    EventOf(['response.mcp_call_arguments.done'], { ...ofItem, arguments: Type.String() }),
    EventOf(
      [
        'response.mcp_call.in_progress',
        'response.mcp_call.completed',
        'response.mcp_call.failed',
        'response.mcp_list_tools.in_progress',
        'response.mcp_list_tools.completed',
        'response.mcp_list_tools.failed'
      ],
      ofItem
    ),
    EventOf(['keepalive'], {})
  ],
  { description: 'An event of a streamed answer.' }
)
