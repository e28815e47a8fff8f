/** The messages of a conversation: section 5.3 of the wire contract. */

import { Type, type Static } from 'typebox'
import { AnyObject, Nullable, OneOf } from './nullable.ts'

export const TextPart = Type.Object({ type: Type.Literal('text'), text: Type.String() })
export type TextPart = Static<typeof TextPart>

export const ImagePart = Type.Object({
  type: Type.Literal('image_url'),
  image_url: Type.Object({
    url: Type.String(),
    detail: Nullable(OneOf(['auto', 'low', 'high']))
  })
})
export type ImagePart = Static<typeof ImagePart>

export const AudioPart = Type.Object({
  type: Type.Literal('input_audio'),
  input_audio: Type.Object({ data: Type.String(), format: OneOf(['wav', 'mp3']) })
})
export type AudioPart = Static<typeof AudioPart>

export const FilePart = Type.Object({
  type: Type.Literal('file'),
  file: Type.Object({
    file_data: Nullable(Type.String()),
    file_id: Nullable(Type.String()),
    filename: Nullable(Type.String())
  })
})
export type FilePart = Static<typeof FilePart>

export const RefusalPart = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() })
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
    extra_content: Nullable(AnyObject)
  }),
  Type.Object({
    id: Type.String(),
    type: Type.Literal('custom'),
    custom: Type.Object({ name: Type.String(), input: Type.String() })
  })
])
export type ToolCall = Static<typeof ToolCall>

const text = Type.Union([Type.String(), Type.Array(TextPart)])

export const SystemMessage = Type.Object({
  role: OneOf(['system', 'developer']),
  content: text,
  name: Nullable(Type.String())
})
export type SystemMessage = Static<typeof SystemMessage>

export const UserMessage = Type.Object({
  role: Type.Literal('user'),
  content: Type.Union([Type.String(), Type.Array(UserPart)]),
  name: Nullable(Type.String())
})
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
  thinking_blocks: Nullable(Type.Array(AnyObject))
})
export type AssistantMessage = Static<typeof AssistantMessage>

export const ToolMessage = Type.Object({
  role: Type.Literal('tool'),
  content: text,
  tool_call_id: Type.String()
})
export type ToolMessage = Static<typeof ToolMessage>

export const FunctionMessage = Type.Object({
  role: Type.Literal('function'),
  name: Type.String(),
  content: Type.Union([Type.String(), Type.Null()])
})
export type FunctionMessage = Static<typeof FunctionMessage>

export const Message = Type.Union([
  SystemMessage, UserMessage, AssistantMessage, ToolMessage, FunctionMessage
])
export type Message = Static<typeof Message>
