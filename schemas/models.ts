/** GET /v1/models and GET /v1/models/{id}: the model listing object of the wire contract. */

import { Type, type Static } from 'typebox'
import { statusNames } from './catalogue.ts'
import { Nullable, OneOf } from './nullable.ts'
import { providerLabels } from './providers.ts'

const Flag = Nullable(Type.Boolean())
const Tokens = Nullable(Type.Integer())

function Usd (description: string) {
  return Nullable(Type.Number({ description }))
}

export const Model = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  provider: OneOf([...providerLabels], {
    description:
      'The kind of the provider, or `openai` for a kind that is not among these names; `provider_info.provider_id` is its own name.'
  }),
  created: Type.Integer({ description: 'Unix time of its release in seconds; 0: not known.' }),
  created_at: Type.String({ description: 'The same moment, ISO 8601.' }),
  owned_by: Type.String({
    description: 'The configured provider that serves it; `headgate` for a route or an alias.'
  }),
  display_name: Nullable(Type.String()),
  description: Nullable(Type.String()),
  capabilities: Type.Object({
    text: Flag,
    vision: Flag,
    image_generation: Flag,
    audio: Flag,
    tools: Flag,
    structured_output: Flag,
    streaming: Flag,
    thinking: Flag,
    input_token_limit: Tokens,
    output_token_limit: Tokens
  }),
  pricing: Nullable(
    Type.Object(
      {
        input: Usd('USD per million tokens of input.'),
        cached_input: Usd('USD per million tokens of input that the provider found in its cache.'),
        output: Usd('USD per million tokens of output.'),
        as_of: Type.String({ description: 'The day on which these prices were valid.' })
      },
      { description: '`null`: not known, or the models behind the name differ.' }
    )
  ),
  provider_info: Type.Object({
    status: OneOf([...statusNames]),
    upstream_api: Type.String(),
    provider_id: Type.String({ description: 'The configured provider that serves it.' })
  })
})
export type Model = Static<typeof Model>

export const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(Model) })
export type ModelList = Static<typeof ModelList>
