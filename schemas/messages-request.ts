/**
 * The request of POST /v1/messages, Anthropic's Messages API, as a server must accept it. The answer is in
 * `messages-answer`.
 *
 * Known fields are checked, unknown ones are accepted everywhere: they travel to Anthropic and mean nothing
 * to other providers. What a translation cannot carry is refused by `lib/dialects/messages`.
 *
 * @see https://docs.claude.com/en/api/messages
 */

import { Type, type Static, type TProperties, type TSchema } from 'typebox'
import { callOptions, guardsOption } from './call-options.ts'
import { AnyObject, Nullable, OneOf, type WithoutNulls } from './nullable.ts'

const CacheControl = Type.Object(
  {
    type: Type.Literal('ephemeral'),
    ttl: Nullable(OneOf(['5m', '1h']))
  },
  { description: 'Marks the end of a part of the prompt that Anthropic caches.' }
)

const cached = { cache_control: Nullable(CacheControl) }

const legalId = Type.String({ pattern: '^[a-zA-Z0-9_-]+$' })

export const MessagesTextBlock = Type.Object(
  { type: Type.Literal('text'), text: Type.String(), ...cached },
  {
    description: 'Plain text.'
  }
)
export type MessagesTextBlock = Static<typeof MessagesTextBlock>

const Base64Source = Type.Object({
  type: Type.Literal('base64'),
  media_type: Type.String(),
  data: Type.String()
})
const UrlSource = Type.Object({ type: Type.Literal('url'), url: Type.String() })
const FileSource = Type.Object({ type: Type.Literal('file'), file_id: Type.String() })
const PlainTextSource = Type.Object({
  type: Type.Literal('text'),
  media_type: Type.String(),
  data: Type.String()
})

export const MessagesImageBlock = Type.Object(
  {
    type: Type.Literal('image'),
    source: Type.Union([Base64Source, UrlSource, FileSource]),
    ...cached
  },
  { description: 'An image, in base64 or by its address.' }
)
export type MessagesImageBlock = Static<typeof MessagesImageBlock>

const ContentSource = Type.Object({
  type: Type.Literal('content'),
  content: Type.Union([Type.String(), Type.Array(Type.Union([MessagesTextBlock, MessagesImageBlock]))])
})

export const MessagesDocumentBlock = Type.Object(
  {
    type: Type.Literal('document'),
    source: Type.Union([Base64Source, PlainTextSource, ContentSource, UrlSource, FileSource]),
    title: Nullable(Type.String()),
    context: Nullable(Type.String()),
    ...cached
  },
  { description: 'A document: a PDF, a text, or text and images.' }
)
export type MessagesDocumentBlock = Static<typeof MessagesDocumentBlock>

const ThinkingBlock = Type.Object(
  {
    type: Type.Literal('thinking'),
    thinking: Type.String(),
    signature: Nullable(Type.String())
  },
  { description: 'Thinking of an earlier answer, given back unchanged.' }
)

const RedactedThinkingBlock = Type.Object({ type: Type.Literal('redacted_thinking'), data: Type.String() })

const ToolUseBlock = Type.Object(
  {
    type: Type.Literal('tool_use'),
    id: legalId,
    name: Type.String(),
    input: AnyObject,
    ...cached
  },
  { description: 'A tool call of an earlier answer.' }
)

const ToolReferenceBlock = Type.Object(
  {
    type: Type.Literal('tool_reference'),
    tool_name: Type.String(),
    ...cached
  },
  { description: "A tool that the client's own search has found: from here on the model may call it." }
)

const knownBlocks = [
  'text',
  'image',
  'document',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'tool_result',
  'tool_reference'
]

/** A separate type for the compiler, so that the other blocks are distinguished by theirs. */
export interface MessagesOtherBlock {
  readonly type: '*'
  readonly [field: string]: unknown
}

const OtherBlock = Type.Unsafe<MessagesOtherBlock>({
  ...Type.Object({ type: Type.String({ pattern: `^(?!(?:${knownBlocks.join('|')})$)` }) }),
  description: "Any other block, such as those of Anthropic's own tools."
})

const ResultBlock = Type.Union([
  MessagesTextBlock,
  MessagesImageBlock,
  MessagesDocumentBlock,
  ToolReferenceBlock,
  OtherBlock
])
export type MessagesResultBlock = Static<typeof ResultBlock>

const ToolResultBlock = Type.Object(
  {
    type: Type.Literal('tool_result'),
    tool_use_id: legalId,
    content: Nullable(Type.Union([Type.String(), Type.Array(ResultBlock)])),
    is_error: Nullable(Type.Boolean()),
    ...cached
  },
  { description: 'The result of a tool call.' }
)
export type MessagesToolResultBlock = Static<typeof ToolResultBlock>

export const MessagesBlock = Type.Union([
  MessagesTextBlock,
  MessagesImageBlock,
  MessagesDocumentBlock,
  ThinkingBlock,
  RedactedThinkingBlock,
  ToolUseBlock,
  ToolResultBlock,
  ToolReferenceBlock,
  OtherBlock
])
export type MessagesBlock = Static<typeof MessagesBlock>

export const MessagesMessage = Type.Object(
  {
    role: OneOf(['user', 'assistant', 'system']),
    content: Type.Union([Type.String(), Type.Array(MessagesBlock)])
  },
  { description: 'One message of the conversation. `system` may stand anywhere in it.' }
)
export type MessagesMessage = Static<typeof MessagesMessage>

export const MessagesTool = Type.Object(
  {
    type: Nullable(Type.Literal('custom')),
    name: Type.String({ pattern: '^[a-zA-Z0-9_-]{1,128}$' }),
    description: Nullable(Type.String()),
    input_schema: Type.Object(
      { type: Type.Literal('object') },
      { description: 'JSON schema of the input.' }
    ),
    strict: Nullable(Type.Boolean()),
    defer_loading: Nullable(Type.Boolean(), {
      description: 'True: the model does not see it until a `tool_reference` names it.'
    }),
    ...cached
  },
  { description: 'A tool that the client runs.' }
)
export type MessagesTool = Static<typeof MessagesTool>

/** A separate type for the compiler, like `MessagesOtherBlock`. */
export interface MessagesTypedTool {
  readonly type: '*'
  readonly name?: unknown
  readonly defer_loading?: unknown
}

const TypedTool = Type.Unsafe<MessagesTypedTool>({
  ...Type.Object({
    type: Type.String({ pattern: '^(?!(?:custom|function)$)' }),
    name: Type.Optional(Type.String())
  }),
  description: 'A tool that Anthropic defines; other providers have `bash`, `text_editor` and `memory` only.'
})

export const MessagesListedTool = Type.Union([MessagesTool, TypedTool])
export type MessagesListedTool = Static<typeof MessagesListedTool>

const ToolChoice = Type.Union([
  Type.Object({ type: OneOf(['auto', 'any', 'none']), disable_parallel_tool_use: Nullable(Type.Boolean()) }),
  Type.Object({
    type: Type.Literal('tool'),
    name: Type.String(),
    disable_parallel_tool_use: Nullable(Type.Boolean())
  })
])

const display = {
  display: Nullable(Type.String(), { description: '`omitted`: thinking comes without its text.' })
}

const Thinking = Type.Union([
  Type.Object({ type: Type.Literal('enabled'), budget_tokens: Type.Integer({ minimum: 1024 }), ...display }),
  Type.Object({ type: Type.String({ pattern: '^(?!enabled$)' }), ...display })
])

const OutputFormat = Type.Object({ type: Type.String(), schema: Nullable(AnyObject) })

const OutputConfig = Type.Object({
  effort: Nullable(Type.String(), { description: '`low`, `medium`, `high`, `xhigh` or `max`.' }),
  format: Nullable(OutputFormat, {
    description: '`{ type: "json_schema", schema }`: the answer is JSON of this form.'
  })
})

/** The fields from which the tokens of a prompt can be counted. */
const prompt = {
  model: Type.String({ minLength: 1, maxLength: 256, description: 'A model, a route or an alias.' }),
  messages: Type.Array(MessagesMessage, { minItems: 1 }),
  system: Nullable(Type.Union([Type.String(), Type.Array(MessagesTextBlock)])),
  tools: Nullable(Type.Array(MessagesListedTool)),
  tool_choice: Nullable(ToolChoice),
  thinking: Nullable(Thinking, { description: 'Whether and how long the model thinks first.' }),
  output_config: Nullable(OutputConfig),
  output_format: Nullable(OutputFormat, { description: 'The older name of `output_config.format`.' }),
  ...cached,
  context_management: Nullable(AnyObject),
  mcp_servers: Nullable(Type.Array(Type.Unknown()), {
    description: "Anthropic's own connector. Only for Anthropic."
  }),
  thread: Nullable(Type.Unknown(), { description: 'Refused: the gateway keeps no conversations.' })
} satisfies TProperties

export const CountTokensRequest = Type.Object(
  { ...prompt, ...guardsOption },
  { description: 'Asks how many tokens a prompt has.' }
)
export type CountTokensRequest = WithoutNulls<Static<typeof CountTokensRequest>>

const sampling = { minimum: 0, maximum: 1 } satisfies Parameters<typeof Type.Number>[0]

export const MessagesRequest = Type.Object(
  {
    ...prompt,
    max_tokens: Type.Integer({
      minimum: 0,
      description: 'Maximum number of tokens of the answer; 0 warms a cache and generates nothing.'
    }),
    stream: Nullable(Type.Boolean()),
    stop_sequences: Nullable(Type.Array(Type.String())),
    temperature: Nullable(Type.Number(sampling)),
    top_p: Nullable(Type.Number(sampling)),
    top_k: Nullable(Type.Integer({ minimum: 0 })),
    metadata: Nullable(Type.Object({ user_id: Nullable(Type.String({ maxLength: 512 })) })),
    service_tier: Nullable(OneOf(['auto', 'standard_only'])),
    container: Nullable(Type.Unknown()),
    ...callOptions
  } satisfies Record<string, TSchema>,
  { description: "Asks for the next message of a conversation, in the format of Anthropic's API." }
)
export type MessagesRequest = WithoutNulls<Static<typeof MessagesRequest>>
