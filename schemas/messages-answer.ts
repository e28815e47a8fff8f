/**
 * The answers of POST /v1/messages: complete messages, the events of a stream, errors and token counts.
 */

import { Type, type Static } from 'typebox'
import { costFields } from './chat-completion.ts'
import { AnyObject, OneOf } from './nullable.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const tokens = Type.Integer({ minimum: 0 })

const messagesStopReasons = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
  'compaction'
] as const

const StopReason = OneOf([...messagesStopReasons])
export type MessagesStopReason = (typeof messagesStopReasons)[number]

const StopDetails = Type.Object({
  type: Type.Literal('refusal'),
  category: nullable(Type.String()),
  explanation: nullable(Type.String())
})
export type MessagesStopDetails = Static<typeof StopDetails>

/** The blocks of answers that are translated; Anthropic's own answers may have others. */
export const AnswerBlock = Type.Union([
  Type.Object({ type: Type.Literal('text'), text: Type.String() }),
  Type.Object({ type: Type.Literal('thinking'), thinking: Type.String(), signature: Type.String() }),
  Type.Object({ type: Type.Literal('redacted_thinking'), data: Type.String() }),
  Type.Object({
    type: Type.Literal('tool_use'),
    id: Type.String({ pattern: '^[a-zA-Z0-9_-]+$' }),
    name: Type.String(),
    input: AnyObject
  })
])
export type AnswerBlock = Static<typeof AnswerBlock>

export const MessagesUsage = Type.Object(
  {
    input_tokens: tokens,
    cache_creation_input_tokens: tokens,
    cache_read_input_tokens: tokens,
    output_tokens: tokens,
    output_tokens_details: Type.Optional(Type.Object({ thinking_tokens: tokens })),
    ...costFields
  },
  {
    description:
      'Tokens used. `input_tokens` counts neither those read from a cache nor those written to one.'
  }
)
export type MessagesUsage = Static<typeof MessagesUsage>

const head = {
  id: Type.String({ minLength: 1 }),
  type: Type.Literal('message'),
  role: Type.Literal('assistant'),
  model: Type.String({ minLength: 1 })
}

export const MessagesAnswer = Type.Object(
  {
    ...head,
    content: Type.Array(AnswerBlock),
    stop_reason: StopReason,
    stop_sequence: nullable(Type.String()),
    stop_details: Type.Optional(StopDetails),
    usage: MessagesUsage
  },
  { description: 'The next message of a conversation.' }
)
export type MessagesAnswer = Static<typeof MessagesAnswer>

const messagesErrorTypes = [
  'invalid_request_error',
  'authentication_error',
  'billing_error',
  'permission_error',
  'not_found_error',
  'conflict_error',
  'request_too_large',
  'rate_limit_error',
  'timeout_error',
  'api_error',
  'overloaded_error'
] as const
export type MessagesErrorType = (typeof messagesErrorTypes)[number]

export const MessagesErrorBody = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({
      type: OneOf([...messagesErrorTypes]),
      message: Type.String({ description: 'A human-readable message.' }),
      details: Type.Optional(
        Type.Object({ error_code: Type.String({ description: 'A machine-readable reason.' }) })
      )
    }),
    request_id: Type.String({ description: 'The id of the call, as in the header `request-id`.' })
  },
  { additionalProperties: false, description: 'Description of the error.' }
)
export type MessagesErrorBody = Static<typeof MessagesErrorBody>

const index = tokens

export const MessagesStreamEvent = Type.Union(
  [
    Type.Object({
      type: Type.Literal('message_start'),
      message: Type.Object({
        ...head,
        content: Type.Array(AnswerBlock, { maxItems: 0 }),
        stop_reason: Type.Null(),
        stop_sequence: Type.Null(),
        usage: MessagesUsage
      })
    }),
    Type.Object({ type: Type.Literal('ping') }),
    Type.Object({ type: Type.Literal('content_block_start'), index, content_block: AnswerBlock }),
    Type.Object({
      type: Type.Literal('content_block_delta'),
      index,
      delta: Type.Union([
        Type.Object({ type: Type.Literal('text_delta'), text: Type.String({ minLength: 1 }) }),
        Type.Object({ type: Type.Literal('thinking_delta'), thinking: Type.String({ minLength: 1 }) }),
        Type.Object({ type: Type.Literal('signature_delta'), signature: Type.String({ minLength: 1 }) }),
        Type.Object({ type: Type.Literal('input_json_delta'), partial_json: Type.String() })
      ])
    }),
    Type.Object({ type: Type.Literal('content_block_stop'), index }),
    Type.Object({
      type: Type.Literal('message_delta'),
      delta: Type.Object({
        stop_reason: StopReason,
        stop_sequence: nullable(Type.String()),
        stop_details: Type.Optional(StopDetails)
      }),
      usage: MessagesUsage
    }),
    Type.Object({ type: Type.Literal('message_stop') }),
    MessagesErrorBody
  ],
  { description: 'One event of a stream; its name is the `type`.' }
)
export type MessagesStreamEvent = Static<typeof MessagesStreamEvent>

export const TokenCount = Type.Object(
  { input_tokens: tokens },
  { description: 'The number of tokens of a prompt.' }
)
export type TokenCount = Static<typeof TokenCount>

const Support = Type.Optional(Type.Object({ supported: Type.Boolean() }))

export const MessagesModel = Type.Object(
  {
    type: Type.Literal('model'),
    id: Type.String(),
    display_name: Type.String(),
    created_at: Type.String({
      description: 'Time of its release (RFC 3339); the start of Unix time when it is not known.'
    }),
    description: nullable(Type.String()),
    max_input_tokens: nullable(tokens),
    max_tokens: nullable(tokens),
    capabilities: Type.Object({ image_input: Support, thinking: Support, structured_outputs: Support }),
    lifecycle: OneOf(['active', 'deprecated'])
  },
  { description: "A model, as Anthropic's API describes one." }
)
export type MessagesModel = Static<typeof MessagesModel>

export const MessagesModelList = Type.Object(
  {
    data: Type.Array(MessagesModel),
    has_more: Type.Boolean(),
    first_id: nullable(Type.String()),
    last_id: nullable(Type.String())
  },
  { description: 'A page of models. Set `limit`, and `after_id` or `before_id`.' }
)
export type MessagesModelList = Static<typeof MessagesModelList>
