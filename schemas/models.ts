/** The answers of GET /v1/models and GET /v1/models/{id}. */

import { Type, type Static } from 'typebox'
import { Nullable, OneOf } from './nullable.ts'

export const ModelStatus = OneOf(['enabled', 'disabled', 'preview', 'deprecated'])

export const ModelCapabilities = Type.Object({
  text: Nullable(Type.Boolean()),
  vision: Nullable(Type.Boolean()),
  image_generation: Nullable(Type.Boolean()),
  audio: Nullable(Type.Boolean()),
  tools: Nullable(Type.Boolean()),
  structured_output: Nullable(Type.Boolean()),
  streaming: Nullable(Type.Boolean()),
  thinking: Nullable(Type.Boolean()),
  input_token_limit: Nullable(Type.Integer(), { description: 'Most tokens of context.' }),
  output_token_limit: Nullable(Type.Integer(), { description: 'Most tokens of an answer.' })
}, { description: 'What the model can do; null or absent means unknown.' })

export const Model = Type.Object({
  id: Type.String({ description: 'With the prefix of its provider: `openai/gpt-5`.' }),
  provider: Type.String({ description: 'The provider\'s label in lower case.' }),
  created_at: Type.String({ description: 'RFC 3339 time.' }),
  display_name: Nullable(Type.String()),
  description: Nullable(Type.String()),
  version: Nullable(Type.String()),
  capabilities: Nullable(ModelCapabilities),
  defaults: Nullable(Type.Object({
    temperature: Nullable(Type.Number()),
    top_p: Nullable(Type.Number()),
    top_k: Nullable(Type.Integer()),
    max_output_tokens: Nullable(Type.Integer())
  })),
  provider_info: Nullable(Type.Object({
    status: ModelStatus,
    upstream_api: Type.String({ description: 'Which API of the provider serves it.' })
  })),
  provider_declared_generation_methods: Nullable(Type.Array(Type.String()))
}, { description: 'A model Headgate can call.' })
export type Model = Static<typeof Model>

export const ModelList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Model)
}, { description: 'Every model this key may see.' })
export type ModelList = Static<typeof ModelList>
