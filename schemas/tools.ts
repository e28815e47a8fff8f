/**
 * Tools that a caller offers, and how the model chooses among them.
 *
 * The JSON schema of a function's parameters is never inspected: callers send every dialect of it, and its
 * meaning is up to the provider.
 */

import { Type, type Static } from 'typebox'
import { AnyObject, MapOf, Nullable, OneOf } from './nullable.ts'
import { maxUrlLength } from './url.ts'

/** All servers of a request are connected to at the same time: a call must not open thousands of sockets. */
export const maxToolServers = 32

/** Longer than any provider allows. */
export const ToolName = Type.String({ minLength: 1, maxLength: 256 })

export const FunctionDefinition = Type.Object({
  name: ToolName,
  description: Nullable(Type.String()),
  parameters: Nullable(AnyObject, { description: 'JSON schema of the arguments.' }),
  strict: Nullable(Type.Boolean(), {
    default: false, description: 'Arguments follow the schema exactly.'
  })
})
export type FunctionDefinition = Static<typeof FunctionDefinition>

export const FunctionTool = Type.Object({
  type: Type.Optional(Type.Literal('function')),
  function: FunctionDefinition
}, { description: 'A function the model may call. A tool without `type` is a function.' })
export type FunctionTool = Static<typeof FunctionTool>

export const CustomTool = Type.Object({
  type: Type.Literal('custom'),
  custom: Type.Object({
    name: ToolName,
    description: Nullable(Type.String()),
    format: Nullable(Type.Union([
      Type.Object({ type: Type.Literal('text') }),
      Type.Object({
        type: Type.Literal('grammar'),
        grammar: Type.Object({ definition: Type.String(), syntax: OneOf(['lark', 'regex']) })
      })
    ]))
  })
}, { description: 'A tool with free-form input.' })
export type CustomTool = Static<typeof CustomTool>

export const Tool = Type.Union([FunctionTool, CustomTool])
export type Tool = Static<typeof Tool>

export const ToolChoice = Type.Union([
  OneOf(['none', 'auto', 'required']),
  Type.Object({ type: Type.Literal('function'), function: Type.Object({ name: Type.String() }) }),
  Type.Object({ type: Type.Literal('custom'), custom: Type.Object({ name: Type.String() }) }),
  Type.Object({
    type: Type.Literal('allowed_tools'),
    allowed_tools: Type.Object({ mode: OneOf(['auto', 'required']), tools: Type.Array(AnyObject) })
  }),
  Type.Object({
    type: OneOf(['auto', 'any', 'none']),
    disable_parallel_tool_use: Nullable(Type.Boolean())
  }),
  Type.Object({
    type: Type.Literal('tool'),
    name: Type.String(),
    disable_parallel_tool_use: Nullable(Type.Boolean())
  }),
  Type.Object({ server_label: Type.String(), name: Type.String() })
])
export type ToolChoice = Static<typeof ToolChoice>

export const ToolServerSpec = Type.Object(
  {
    slug: Nullable(Type.String({ maxLength: 256, pattern: '^[A-Za-z0-9_-]+/[A-Za-z0-9_-]+$' }), {
      description: 'Its name in the registry: `org/name`.'
    }),
    url: Nullable(Type.String({ maxLength: maxUrlLength, pattern: '^https?://' }), {
      description: 'Its address.'
    }),
    version: Nullable(Type.String({ maxLength: 256 }), {
      description: 'Version of the slug. Default: the newest.'
    }),
    name: Nullable(Type.String({ maxLength: 256 }), {
      description: 'Name in credentials and errors. Default: the slug or URL.'
    }),
    credentials: Nullable(AnyObject, { description: 'Sealed credentials by connection name.' }),
    metadata: Nullable(AnyObject, { description: 'Has no effect.' }),
    headers: Nullable(MapOf(Type.String()), { description: 'Sent to the server with every request.' }),
    authorization: Nullable(Type.String(), { description: 'Sent as the `Authorization` header.' }),
    allowed_tools: Nullable(Type.Array(Type.String()), {
      description: 'Offer only these of its tools.'
    })
  },
  { description: 'A tool server by `slug` or by `url`: exactly one of them.' }
)
export type ToolServerSpec = Static<typeof ToolServerSpec>

export const ToolServer = Type.Union([
  Type.String({
    minLength: 1,
    maxLength: maxUrlLength,
    description: 'A URL, or a slug `org/name` with an optional `@version`.'
  }),
  ToolServerSpec
])
export type ToolServer = Static<typeof ToolServer>

export const ToolServers = Type.Union([ToolServer, Type.Array(ToolServer, { maxItems: maxToolServers })])

const CredentialValue = Type.Union([Type.String(), Type.Integer(), Type.Boolean()])

export const Credential = Type.Object({
  connection_name: Type.String(),
  values: MapOf(CredentialValue)
}, { description: 'Values, such as tokens, for one connection of a tool server.' })
export type Credential = Static<typeof Credential>
