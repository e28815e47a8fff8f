/**
 * Describes what a model accepts, as far as translations depend on it: in the catalogue, and under `models:`
 * in the configuration. Everything else is left to the provider, whose own refusal is passed on.
 */

import { Type, type Static, type TProperties } from 'typebox'
import { efforts } from './efforts.ts'
import { OneOf } from './nullable.ts'
import { TranscriptFormat } from './transcription.ts'

function Section<T extends TProperties> (properties: T, description: string) {
  return Type.Optional(Type.Object(properties, { additionalProperties: false, description }))
}

const Flag = (description: string) => Type.Optional(Type.Boolean({ description }))
const Count = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))
const Words = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }))

export const ImageTraits = Type.Object(
  {
    tasks: Type.Optional(
      Type.Array(OneOf(['generation', 'edit', 'variation']), {
        description: 'Supported tasks. Default: all.'
      })
    ),
    max_prompt_characters: Count('Longest prompt, in Unicode characters. Default: any.'),
    max_images: Count('Images of one request. Default: 10.'),
    sizes: Words('Default: any.'),
    qualities: Words('Default: any.'),
    unsupported: Words('Parameters that the model refuses.'),
    files: Type.Optional(
      OneOf(['square_png', 'any'], { description: 'Required format of an input file. Default: `any`.' })
    ),
    max_files: Count('Files to change in one request. Default: any number.')
  },
  { additionalProperties: false, description: 'Image requests.' }
)
export type ImageTraits = Static<typeof ImageTraits>

export const ModelTraits = Type.Object(
  {
    max_output_tokens: Count(
      'Tokens of one answer, thinking included. The `output_token_limit` of `capabilities` counts if it is lower. ' +
        'Default: what the provider allows.'
    ),
    min_output_tokens: Count(
      'Minimum token limit; lower limits are raised to it. Default: 16 at the Responses API, else 1.'
    ),
    sampling: Flag(
      'Takes `temperature`, `top_p`, `top_k` and `logit_bias`, even while it thinks. If false, they are left out.'
    ),
    efforts: Type.Optional(
      Type.Array(OneOf([...efforts, 'default']), {
        description:
          'Values of `reasoning_effort`; others become the closest. Empty: it takes none. Default: any.'
      })
    ),
    default_effort: Type.Optional(
      OneOf([...efforts], { description: 'The effort that the model uses if the request sets none. Default: unspecified, but the model thinks.' })
    ),
    thinking: Type.Optional(
      Type.Array(OneOf(['budget', 'adaptive', 'level']), {
        description:
          'Ways to request thinking: by a number of tokens; by an effort within which the model decides; by a level. ' +
          'Empty for a model that does not think.'
      })
    ),
    thinking_budget: Section(
      {
        min: Count('Minimum thinking budget, in tokens.'),
        max: Count('Maximum thinking budget, in tokens.')
      },
      'Bounds of a thinking budget; one outside becomes the nearest. Default: any.'
    ),
    thinking_off: Flag('Takes an explicit request not to think.'),
    forced_tools: Flag('Can be required to call a tool.'),
    system_instruction: Flag('False: the system prompt goes in front of the first user message.'),
    penalties: Flag('Takes `frequency_penalty` and `presence_penalty`. Where not, they are left out.'),
    min_cached_tokens: Count(
      'Fewest tokens that its provider keeps in the prompt cache. Without it, `cache_marks` marks nothing.'
    ),
    stop: Flag(
      'Takes `stop`. If false, requests with `stop` are refused, except those of the Messages API, which lose it: the answer may be longer.'
    ),
    thought_signatures: Flag('Tool calls of the history must carry the signature they came with.'),
    responses_only: Flag(
      'Served by `POST /responses` of its provider and nothing else: requests of other dialects are translated.'
    ),
    tools_at_responses: Flag(
      'Requests with function tools go to `POST /responses` of its provider while the model thinks: chat completions refuses them.'
    ),
    max_choices: Count('Choices of one upstream request; more are requested in parallel.'),
    embeddings: Section(
      {
        dimensions: Count('Numbers of one vector, unless the call asks for fewer.'),
        supports_dimensions: Flag('False when the parameter `dimensions` is refused.'),
        tokens_per_input: Count('Tokens of one input. Default: 8192.'),
        tokens_per_request: Count('Tokens of all inputs of one request. Default: 300000.')
      },
      'Embedding requests.'
    ),
    images: Type.Optional(ImageTraits),
    speech: Section(
      {
        instructions: Flag('Takes `instructions`.'),
        event_stream: Flag('Can stream its audio as events.')
      },
      'Speech requests.'
    ),
    transcription: Section(
      {
        formats: Type.Optional(
          Type.Array(TranscriptFormat, {
            description: 'Formats that the model writes itself; others are made from them.'
          })
        ),
        logprobs: Flag('Gives log probabilities.'),
        streaming: Flag('Streams.'),
        chunking: Flag('Takes a chunking strategy.'),
        speakers: Flag('Takes names and recordings of known speakers.'),
        keywords: Flag('Takes `languages` and `keywords`.'),
        prompt: Flag('Takes a prompt.'),
        translation: Flag('Translates into English.')
      },
      'Transcription and translation requests.'
    )
  },
  {
    additionalProperties: false,
    description: 'Traits of a model that the catalogue does not know or that has changed.'
  }
)
export type ModelTraits = Static<typeof ModelTraits>
