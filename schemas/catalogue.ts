/** The schema of `lib/models/catalogue.json`, which never crosses the wire. */

import { Type, type Static } from 'typebox'
import { OneOf } from './nullable.ts'
import { priceFields } from './price.ts'
import { providerKinds } from './providers.ts'
import { ModelTraits } from './traits.ts'

export const capabilityNames = [
  'text', 'vision', 'image_generation', 'audio', 'tools', 'structured_output', 'streaming', 'thinking'
] as const

export const statusNames = ['enabled', 'disabled', 'preview', 'deprecated'] as const

const Day = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'YYYY-MM-DD' })
const Tokens = Type.Integer({ minimum: 1 })

/** One model as the gateway offers it. Unknown facts are omitted, never guessed. */
export const CatalogueModel = Type.Object(
  {
    id: Type.String({
      pattern: '^[a-z][a-z0-9._-]*/\\S+$',
      description: 'Kind of provider, slash, name.'
    }),
    model: Type.Optional(Type.String({ description: 'Name at the provider, if not that of the id.' })),
    display_name: Type.String({ minLength: 1 }),
    description: Type.String({ minLength: 1 }),
    created_at: Type.Optional(Day),
    status: OneOf([...statusNames]),
    upstream_api: Type.String({ minLength: 1 }),
    can: Type.Array(OneOf([...capabilityNames]), {
      uniqueItems: true,
      description: 'Capabilities through this gateway.'
    }),
    input_token_limit: Type.Optional(Tokens),
    output_token_limit: Type.Optional(Tokens),
    price: Type.Optional(
      Type.Object(
        {
          ...priceFields,
          source: Type.String({
            minLength: 1,
            description: 'Where it was read: the address of a page, or a description.'
          }),
          as_of: Day
        },
        { additionalProperties: false, description: 'Its price on a day.' }
      )
    ),
    traits: Type.Optional(ModelTraits)
  },
  { additionalProperties: false }
)
export type CatalogueModel = Static<typeof CatalogueModel>

/**
 * The requests that models of one family accept. The first matching family counts; facts of the model itself
 * override it.
 */
export const ModelFamily = Type.Object(
  {
    kinds: Type.Optional(
      Type.Array(OneOf([...providerKinds]), {
        description: 'Kinds of providers it is served by. Default: any.'
      })
    ),
    match: Type.String({ minLength: 1, description: 'Regular expression for names at the provider.' }),
    traits: ModelTraits,
    source: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Where it was read: the address of a page, or a description.'
      })
    ),
    as_of: Type.Optional(Day)
  },
  { additionalProperties: false }
)
export type ModelFamily = Static<typeof ModelFamily>

const ModelIds = Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })

/** Models for requests that name none, by endpoint. */
export const DefaultModels = Type.Object(
  {
    images: Type.Optional(ModelIds),
    ocr: Type.Optional(ModelIds)
  },
  {
    additionalProperties: false,
    description:
      'Models for requests that name none: the first that has the parameters of the request, else the first.'
  }
)
export type DefaultModels = Static<typeof DefaultModels>

export const Catalogue = Type.Object(
  {
    defaults: Type.Optional(DefaultModels),
    embeddings: Type.Optional(
      Type.Object(
        {
          tokens_per_input: Tokens,
          tokens_per_request: Tokens
        },
        {
          additionalProperties: false,
          description: 'Limits of models for embeddings that have none of their own.'
        }
      )
    ),
    families: Type.Array(ModelFamily),
    models: Type.Array(CatalogueModel)
  },
  { additionalProperties: false }
)
export type Catalogue = Static<typeof Catalogue>
