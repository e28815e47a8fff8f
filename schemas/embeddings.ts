/** POST /v1/embeddings: texts, or tokens, to vectors. */

import { Type, type Static } from 'typebox'
import { commonOptions, guardsOption } from './call-options.ts'
import { Identifier, ModelName, Nullable, OneOf, type WithoutNulls } from './nullable.ts'

const listSize = { minItems: 1, maxItems: 2048 }
const Tokens = Type.Integer()

export const EmbeddingInput = Type.Union(
  [
    Type.String({ minLength: 1 }),
    // That none of them is empty is checked after the shape, as OpenAI does.
    Type.Array(Type.String(), listSize),
    Type.Array(Tokens, listSize),
    Type.Array(Type.Array(Tokens, { minItems: 1 }), listSize)
  ],
  { description: 'A text, or its tokens; or a list of texts or of lists of tokens, with a vector for each.' }
)
export type EmbeddingInput = Static<typeof EmbeddingInput>

export const EmbeddingsRequest = Type.Object({
  input: EmbeddingInput,
  model: Type.Union([ModelName, Type.Array(ModelName, { minItems: 1 })], {
    description: 'A model by its id. One only: vectors of different models cannot be compared.'
  }),
  encoding_format: Nullable(OneOf(['float', 'base64']), {
    default: 'float',
    description: 'Numbers, or one text: little-endian 32-bit floats in base64.'
  }),
  dimensions: Nullable(Type.Integer({ minimum: 1 }), {
    description: 'Length of the vectors, for models that can shorten them.'
  }),
  user: Identifier({ description: 'An id of the end user.' }),
  ...commonOptions,
  ...guardsOption
}, { description: 'Asks for the vectors of texts.' })

/** After `validate`: a top-level null is gone. There is no streamed form. */
export type EmbeddingsRequest = WithoutNulls<Static<typeof EmbeddingsRequest>> & {
  readonly stream?: undefined
}

export const Embedding = Type.Object({
  object: Type.Literal('embedding'),
  index: Type.Integer({ description: 'Index of the input, from 0.' }),
  embedding: Type.Union([Type.Array(Type.Number()), Type.String()], {
    description: 'The vector, in the form that was requested.'
  })
})

export const EmbeddingList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Embedding, { description: 'One per input, in the same order.' }),
  model: Type.String({ description: 'The model that produced the answer.' }),
  usage: Type.Object({
    prompt_tokens: Type.Integer(),
    total_tokens: Type.Integer()
  }, { description: 'Tokens as the provider counted them; where it does not, an estimate.' })
}, { description: 'The vectors.' })
export type EmbeddingList = Static<typeof EmbeddingList>
