/** POST /v1/completions: a text and its continuation. Editors with code completion use it. */

import { Type, type Static } from 'typebox'
import { guardsOption } from './call-options.ts'
import { ChatRequest, ModelChoice } from './chat.ts'
import { CompletionUsage } from './chat-completion.ts'
import { Nullable, OneOf, type WithoutNulls } from './nullable.ts'

const {
  temperature,
  top_p,
  presence_penalty,
  frequency_penalty,
  logit_bias,
  stop,
  seed,
  user,
  stream,
  model_attributes,
  agent_attributes,
  fallbacks,
  num_retries,
  tags,
  drop_params,
  timeout,
  cache
} = ChatRequest.properties

const Token = Type.Integer()

export const TextCompletionRequest = Type.Object(
  {
    model: Type.Union([ModelChoice, Type.Array(ModelChoice, { minItems: 1 })], {
      description: 'A model by its id, or several in order of preference; the first that succeeds is used.'
    }),
    prompt: Type.Union(
      [Type.String(), Type.Array(Type.String()), Type.Array(Token), Type.Array(Type.Array(Token))],
      {
        description:
          'The text to go on from: one, as a string or a list of one. Tokens are refused, since each model has its own.'
      }
    ),
    suffix: Nullable(Type.String(), {
      description: 'The text after the gap that is to be filled, for models that fill in the middle.'
    }),
    max_tokens: Nullable(Type.Integer({ minimum: 1 }), {
      default: 16,
      description: 'Maximum number of tokens the model may write.'
    }),
    n: Nullable(Type.Integer({ minimum: 1, maximum: 128 }), {
      default: 1,
      description: 'Number of completions.'
    }),
    best_of: Nullable(Type.Integer({ minimum: 1 }), {
      description: 'Only the value of `n`: all completions that are made are returned.'
    }),
    echo: Nullable(Type.Boolean(), {
      default: false,
      description: 'Repeat the prompt before the completion, for models with an API of text completions.'
    }),
    logprobs: Nullable(Type.Integer({ minimum: 0, maximum: 5 }), {
      description:
        'Return the log probability of each token and of so many alternatives, if the provider can.'
    }),
    temperature,
    top_p,
    presence_penalty,
    frequency_penalty,
    logit_bias,
    stop,
    seed,
    user,
    stream,
    model_attributes,
    agent_attributes,
    fallbacks,
    num_retries,
    tags,
    drop_params,
    timeout,
    cache,
    stream_options: Nullable(
      Type.Object({
        include_usage: Nullable(Type.Boolean(), {
          default: false,
          description: 'Report the usage in a last chunk.'
        })
      }),
      { description: 'Only with `stream`.' }
    ),
    ...guardsOption
  },
  { description: 'A text completion request.' }
)

/** After `validate`: top-level nulls are removed. */
export type TextCompletionRequest = WithoutNulls<Static<typeof TextCompletionRequest>>

export const TextLogprobs = Type.Object(
  {
    tokens: Type.Array(Type.String()),
    token_logprobs: Type.Array(Type.Union([Type.Number(), Type.Null()])),
    top_logprobs: Type.Array(
      Type.Union([
        Type.Unsafe<Record<string, number>>({ type: 'object', additionalProperties: { type: 'number' } }),
        Type.Null()
      ])
    ),
    text_offset: Type.Array(Type.Integer())
  },
  { description: 'One entry per token in each list.' }
)
export type TextLogprobs = Static<typeof TextLogprobs>

export const TextCompletionChoice = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  text: Type.String(),
  logprobs: Type.Union([TextLogprobs, Type.Null()]),
  finish_reason: Type.Union([OneOf(['stop', 'length', 'content_filter']), Type.Null()], {
    description: 'Null in the chunks before the end.'
  })
})
export type TextCompletionChoice = Static<typeof TextCompletionChoice>

/** The answer, and each chunk of a streamed one. */
export const TextCompletion = Type.Object({
  id: Type.String(),
  object: Type.Literal('text_completion'),
  created: Type.Integer({ description: 'Unix time.' }),
  model: Type.String({ description: 'The model that produced the answer.' }),
  system_fingerprint: Type.Optional(Type.String()),
  choices: Type.Array(TextCompletionChoice),
  usage: Type.Optional(CompletionUsage)
}, { description: 'The completions of a text; streamed, a piece of them.' })
export type TextCompletion = Static<typeof TextCompletion>
