/** The items of the Responses API: the parts of a conversation, in requests and answers. */

import { Type, type Static, type TSchema } from 'typebox'
import { costFields } from './chat-completion.ts'
import { AnyObject, Nullable, OneOf } from './nullable.ts'

const optionalId = { id: Nullable(Type.String()) }

const InputText = Type.Object({ type: Type.Literal('input_text'), text: Type.String() })
const InputImage = Type.Object({
  type: Type.Literal('input_image'),
  image_url: Nullable(
    Type.String({ description: 'An address, or a `data:` URL that holds the image itself.' })
  ),
  file_id: Nullable(Type.String()),
  detail: Nullable(OneOf(['low', 'high', 'auto', 'original']))
})
const InputFile = Type.Object({
  type: Type.Literal('input_file'),
  file_data: Nullable(Type.String({ description: 'The file as a `data:` URL or in base64.' })),
  file_url: Nullable(Type.String()),
  file_id: Nullable(Type.String()),
  filename: Nullable(Type.String())
})
const OutputText = Type.Object({ type: Type.Literal('output_text'), text: Type.String() })
const Refusal = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() })

/** Has no static type: the conversation for other providers has no such part. */
const NewPart = Type.Unsafe<never>(
  Type.Object(
    {
      type: Type.String({
        pattern: '^(?!(?:input_text|input_image|input_file|output_text|refusal)$)[a-z0-9_]{1,64}$'
      })
    },
    { description: 'A part of another type. Providers that do not have this API cannot take it.' }
  )
)

const InputPart = Type.Union([InputText, InputImage, InputFile, NewPart])
export type InputPart = Static<typeof InputPart>
const MessagePart = Type.Union([InputText, InputImage, InputFile, OutputText, Refusal, NewPart])
export type MessagePart = Static<typeof MessagePart>

export const MessageItem = Type.Object({
  type: Type.Optional(Type.Literal('message')),
  role: OneOf(['user', 'system', 'developer', 'assistant']),
  content: Type.Union([Type.String(), Type.Array(MessagePart)]),
  phase: Nullable(Type.String({ description: 'Of an answer: send it back unchanged.' })),
  ...optionalId
}, { description: 'A message. An item without `type` is a message.' })
export type MessageItem = Static<typeof MessageItem>

const CallOutput = Type.Union([Type.String(), Type.Array(InputPart)])

const FunctionCallItem = Type.Object(
  {
    type: Type.Literal('function_call'),
    call_id: Type.String({ minLength: 1 }),
    name: Type.String({ minLength: 1 }),
    namespace: Nullable(Type.String()),
    arguments: Type.String(),
    ...optionalId
  },
  { description: 'A call of a function by the model.' }
)

const FunctionCallOutputItem = Type.Object(
  {
    type: Type.Literal('function_call_output'),
    call_id: Type.String({ minLength: 1 }),
    output: CallOutput,
    ...optionalId
  },
  { description: 'The result of a call of a function.' }
)

const CustomCallItem = Type.Object(
  {
    type: Type.Literal('custom_tool_call'),
    call_id: Type.String({ minLength: 1 }),
    name: Type.String({ minLength: 1 }),
    namespace: Nullable(Type.String()),
    input: Type.String(),
    ...optionalId
  },
  { description: 'A call of a tool with free-form input.' }
)

const CustomCallOutputItem = Type.Object(
  {
    type: Type.Literal('custom_tool_call_output'),
    call_id: Type.String({ minLength: 1 }),
    output: CallOutput,
    ...optionalId
  },
  { description: 'The result of such a call.' }
)

const ReasoningItem = Type.Object(
  {
    type: Type.Literal('reasoning'),
    summary: Nullable(Type.Array(Type.Object({ type: Type.Literal('summary_text'), text: Type.String() }))),
    content: Nullable(Type.Array(AnyObject)),
    encrypted_content: Nullable(
      Type.String({ description: 'Send it back unchanged with the items that follow.' })
    ),
    ...optionalId
  },
  { description: 'Reasoning of an earlier answer, given back unchanged.' }
)
export type ReasoningItem = Static<typeof ReasoningItem>

/** The type omits `role`: an item with a role is a message. */
const ItemReference = Type.Unsafe<{ readonly type?: 'item_reference' | null, readonly id: string }>(
  Type.Object(
    {
      type: Nullable(Type.Literal('item_reference')),
      id: Type.String({ minLength: 1 }),
      role: Type.Optional(Type.Never())
    },
    { description: 'An item of a stored response, by its id.' }
  )
)

const AdditionalTools = Type.Object(
  {
    type: Type.Literal('additional_tools'),
    tools: Type.Array(AnyObject),
    ...optionalId
  },
  { description: 'Tools in addition to those of `tools`.' }
)

/** Records of tools that a server ran. */
const serverItems = [
  Type.Object({
    type: Type.Literal('mcp_call'),
    server_label: Type.String(),
    name: Type.String(),
    arguments: Type.String(),
    output: Nullable(Type.String()),
    error: Nullable(Type.Unknown()),
    approval_request_id: Nullable(Type.String()),
    ...optionalId
  }, { description: 'A call of a tool that Headgate ran, with its result.' }),
  Type.Object({ type: Type.Literal('mcp_list_tools'), server_label: Type.String(), ...optionalId }, {
    description: 'The tools of a tool server.'
  }),
  Type.Object({
    type: Type.Literal('mcp_approval_request'),
    id: Type.String({ minLength: 1 }),
    server_label: Type.String(),
    name: Type.String(),
    arguments: Type.String()
  }, { description: 'A call of a tool that waits for consent. Send it back unchanged.' }),
  Type.Object({
    type: Type.Literal('mcp_approval_response'),
    approval_request_id: Type.String({ minLength: 1 }),
    approve: Type.Boolean(),
    reason: Nullable(Type.String()),
    ...optionalId
  }, { description: 'Consent to a call, or its refusal.' })
] as const

/**
 * Items of tools that only OpenAI offers. Other providers get calls of the tools that callers run themselves.
 */
export const hostedItemTypes = [
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'computer_call',
  'computer_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'tool_search_call',
  'tool_search_output',
  'program',
  'program_output'
] as const

/** Items that contain all of their data: the schema requires every field. */
export const contentItemTypes = [
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
  'item_reference',
  'additional_tools',
  ...serverItems.map(({ properties }) => properties.type.const)
]

/** Includes items of unknown types, which providers without this API cannot accept. */
const HostedItem = Type.Object(
  {
    type: Type.Unsafe<(typeof hostedItemTypes)[number]>(
      Type.String({ pattern: `^(?!(?:${contentItemTypes.join('|')})$)[a-z0-9_]{1,64}$` })
    ),
    ...optionalId
  },
  {
    description:
      'A record of a tool of OpenAI. Other providers get calls of shells and patches with their outputs, and no other.'
  }
)

export const InputItem = Type.Union([
  FunctionCallItem,
  FunctionCallOutputItem,
  CustomCallItem,
  CustomCallOutputItem,
  ReasoningItem,
  AdditionalTools,
  ...serverItems,
  HostedItem,
  MessageItem,
  ItemReference
])
export type InputItem = Static<typeof InputItem>

const Tokens = Type.Integer({ minimum: 0 })

export const ResponseUsage = Type.Object({
  input_tokens: Tokens,
  input_tokens_details: Type.Object({ cached_tokens: Tokens, cache_write_tokens: Tokens }),
  output_tokens: Tokens,
  output_tokens_details: Type.Object({ reasoning_tokens: Tokens }),
  total_tokens: Tokens,
  ...costFields
}, { description: 'Tokens used; zero where the provider did not report a detail.' })
export type ResponseUsage = Static<typeof ResponseUsage>

const itemStatus = OneOf(['in_progress', 'completed', 'incomplete'])

/** Returns a list whose items are unchanged from the provider. */
function ListOf<T extends TSchema> (items: T) {
  return Type.Array(items)
}

export const OutputPart = Type.Union([
  Type.Object({
    type: Type.Literal('output_text'),
    text: Type.String(),
    annotations: ListOf(AnyObject),
    logprobs: ListOf(AnyObject)
  }),
  Refusal
])
export type OutputPart = Static<typeof OutputPart>

export const OutputItem = Type.Union([
  Type.Object({
    id: Type.String(),
    type: Type.Literal('message'),
    status: itemStatus,
    role: Type.Literal('assistant'),
    content: Type.Array(OutputPart),
    phase: Type.Optional(
      Type.String({ description: '`commentary` or `final_answer`, where the model says so.' })
    )
  }),
  Type.Object({
    id: Type.String(),
    type: Type.Literal('function_call'),
    status: itemStatus,
    call_id: Type.String(),
    name: Type.String(),
    namespace: Type.Optional(Type.String()),
    arguments: Type.String({ description: 'JSON as text.' })
  }),
  Type.Object({
    id: Type.String(),
    type: Type.Literal('custom_tool_call'),
    status: itemStatus,
    call_id: Type.String(),
    name: Type.String(),
    namespace: Type.Optional(Type.String()),
    input: Type.String()
  }),
  Type.Object({
    id: Type.String(),
    type: Type.Literal('reasoning'),
    status: itemStatus,
    summary: Type.Array(Type.Object({ type: Type.Literal('summary_text'), text: Type.String() })),
    encrypted_content: Type.Optional(
      Type.String({ description: 'State of the provider. Send it back unchanged.' })
    )
  }),
  Type.Object(
    {
      id: Type.String(),
      type: Type.Literal('mcp_call'),
      status: OneOf(['in_progress', 'completed', 'incomplete', 'failed']),
      server_label: Type.String(),
      name: Type.String(),
      arguments: Type.String(),
      output: Type.Union([Type.String(), Type.Null()]),
      error: Type.Union([
        Type.Object({ type: Type.Literal('mcp_tool_execution_error'), content: Type.Array(AnyObject) }),
        Type.Null()
      ]),
      approval_request_id: Type.Optional(
        Type.String({ description: 'The request for consent that was granted.' })
      )
    },
    { description: 'A call of a tool that Headgate ran.' }
  ),
  Type.Object(
    {
      id: Type.String(),
      type: Type.Literal('mcp_list_tools'),
      server_label: Type.String(),
      tools: Type.Array(AnyObject),
      error: Type.Optional(Type.Union([Type.String(), Type.Null()]))
    },
    { description: 'The tools of a tool server, or why they are missing.' }
  ),
  Type.Object(
    {
      id: Type.String(),
      type: Type.Literal('mcp_approval_request'),
      server_label: Type.String(),
      name: Type.String(),
      arguments: Type.String()
    },
    {
      description:
        'A call of a tool that waits for consent: send an `mcp_approval_response` with the same tools.'
    }
  )
])
export type OutputItem = Static<typeof OutputItem>
