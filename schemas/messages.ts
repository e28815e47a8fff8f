/**
 * The messages of a conversation.
 *
 * Parts and messages differ by `type` and `role`. Keys that are not listed, such as
 * `cache_control`, travel with their part or message.
 */

import { Type, type Static } from 'typebox'
import { AnyObject, Nullable, OneOf } from './nullable.ts'

export const TextPart = Type.Object({ type: Type.Literal('text'), text: Type.String() }, {
  description: 'Plain text.'
})
export type TextPart = Static<typeof TextPart>

export const ImagePart = Type.Object({
  type: Type.Literal('image_url'),
  image_url: Type.Object({
    url: Type.String({ description: 'An address, or a `data:` URL that holds the image itself.' }),
    detail: Nullable(OneOf(['auto', 'low', 'high']), {
      default: 'auto', description: 'Level of detail.'
    })
  })
}, { description: 'An image.' })
export type ImagePart = Static<typeof ImagePart>

export const AudioPart = Type.Object({
  type: Type.Literal('input_audio'),
  input_audio: Type.Object({
    data: Type.String({ description: 'The recording in base64.' }),
    format: OneOf(['wav', 'mp3'])
  })
}, { description: 'A recording.' })
export type AudioPart = Static<typeof AudioPart>

export const FilePart = Type.Object({
  type: Type.Literal('file'),
  file: Type.Object({
    file_data: Nullable(Type.String()),
    file_id: Nullable(Type.String()),
    filename: Nullable(Type.String())
  })
}, { description: 'A file: its content as a `data:` URL, or the id the provider gave it.' })
export type FilePart = Static<typeof FilePart>

export const RefusalPart = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() }, {
  description: 'Refusal of the model.'
})
export type RefusalPart = Static<typeof RefusalPart>

export const UserPart = Type.Union([TextPart, ImagePart, AudioPart, FilePart])
export type UserPart = Static<typeof UserPart>

export const AssistantPart = Type.Union([TextPart, RefusalPart])
export type AssistantPart = Static<typeof AssistantPart>

export const FunctionCall = Type.Object({ name: Type.String(), arguments: Type.String() })

export const ToolCall = Type.Union([
  Type.Object({
    id: Type.String(),
    type: Type.Optional(Type.Literal('function')),
    function: FunctionCall,
    extra_content: Nullable(AnyObject, {
      description: 'Data the provider needs back with the call, such as a thought signature.'
    })
  }, { description: 'A call of a function; `arguments` is JSON as text.' }),
  Type.Object({
    id: Type.String(),
    type: Type.Literal('custom'),
    custom: Type.Object({ name: Type.String(), input: Type.String() })
  }, { description: 'A call of a tool with free-form input.' })
])
export type ToolCall = Static<typeof ToolCall>

const text = Type.Union([Type.String(), Type.Array(TextPart)])

export const SystemMessage = Type.Object({
  role: OneOf(['system', 'developer']),
  content: text,
  name: Nullable(Type.String())
}, { description: 'Instructions of the developer.' })
export type SystemMessage = Static<typeof SystemMessage>

export const UserMessage = Type.Object({
  role: Type.Literal('user'),
  content: Type.Union([Type.String(), Type.Array(UserPart)]),
  name: Nullable(Type.String())
}, { description: 'Message of the end user.' })
export type UserMessage = Static<typeof UserMessage>

export const AssistantMessage = Type.Object({
  role: Type.Literal('assistant'),
  content: Nullable(Type.Union([Type.String(), Type.Array(AssistantPart)])),
  refusal: Nullable(Type.String()),
  name: Nullable(Type.String()),
  audio: Nullable(Type.Object({ id: Type.String() })),
  tool_calls: Nullable(Type.Array(ToolCall)),
  function_call: Nullable(FunctionCall),
  reasoning_content: Nullable(Type.String()),
  thinking_blocks: Nullable(Type.Array(AnyObject), {
    description: 'Thinking of an earlier answer, given back unchanged.'
  })
}, { description: 'Earlier message of the model; `content` may be absent if there are tool calls.' })
export type AssistantMessage = Static<typeof AssistantMessage>

export const ToolMessage = Type.Object({
  role: Type.Literal('tool'),
  content: text,
  tool_call_id: Type.String()
}, { description: 'Result of a tool.' })
export type ToolMessage = Static<typeof ToolMessage>

export const FunctionMessage = Type.Object({
  role: Type.Literal('function'),
  name: Type.String(),
  content: Type.Union([Type.String(), Type.Null()])
}, { description: 'Deprecated form of a tool message.' })
export type FunctionMessage = Static<typeof FunctionMessage>

export const Message = Type.Union([
  SystemMessage, UserMessage, AssistantMessage, ToolMessage, FunctionMessage
])
export type Message = Static<typeof Message>

export const CallerToolMessage = Type.Object({
  role: Type.Literal('tool'),
  content: Type.Union([Type.String(), Type.Array(Type.Union([TextPart, ImagePart, FilePart]))]),
  tool_call_id: Type.String()
}, {
  description: 'Result of a tool. The model sees its images and files in a user message after the results.'
})
export type CallerToolMessage = Static<typeof CallerToolMessage>

/** A message as callers send it. */
export const CallerMessage = Type.Union([
  SystemMessage, UserMessage, AssistantMessage, CallerToolMessage, FunctionMessage
])
export type CallerMessage = Static<typeof CallerMessage>
