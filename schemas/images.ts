/**
 * POST /v1/images/generations, /v1/images/edits and /v1/images/variations.
 *
 * A schema describes what some image model accepts. The limits of a single model, such as its sizes, are in
 * `lib/images/rules`.
 */

import { Type, type Static } from 'typebox'
import { guardsOption } from './call-options.ts'
import { ModelChoice } from './chat.ts'
import { FormFile } from './form.ts'
import { Identifier, ModelName, Nullable, OneOf, type WithoutNulls } from './nullable.ts'

const n = Nullable(Type.Integer({ minimum: 1, maximum: 10 }), {
  default: 1, description: 'Number of images.'
})
const size = Nullable(Type.String({ pattern: '^(?:auto|[1-9]\\d{0,4}x[1-9]\\d{0,4})$' }), {
  description: '`auto`, or width and height in pixels: `1024x1024`.'
})
const user = Identifier({ description: 'An id of the end user.' })
const responseFormat = Nullable(OneOf(['url', 'b64_json']), {
  description: 'Format of the images, for models that support both. A URL is valid for 60 minutes.'
})

/** Fields of newer models, for both generations and edits. */
const output = {
  quality: Nullable(OneOf(['auto', 'high', 'medium', 'low', 'hd', 'standard']), { default: 'auto' }),
  output_format: Nullable(OneOf(['png', 'jpeg', 'webp']), { default: 'png' }),
  output_compression: Nullable(Type.Integer({ minimum: 0, maximum: 100 }), {
    default: 100,
    description: 'Percent, for `webp` and `jpeg`.'
  }),
  background: Nullable(OneOf(['transparent', 'opaque', 'auto']), { default: 'auto' }),
  moderation: Nullable(OneOf(['low', 'auto']), { default: 'auto' }),
  stream: Nullable(Type.Boolean(), {
    default: false,
    description: 'Send images as events while they are made.'
  }),
  partial_images: Nullable(Type.Integer({ minimum: 0, maximum: 3 }), {
    description: 'Number of partial images before the final one, with `stream`.'
  })
}

export const ImageRequest = Type.Object({
  prompt: Type.String({ minLength: 1, description: 'Description of the image.' }),
  model: Nullable(Type.Union([ModelChoice, Type.Array(ModelChoice, { minItems: 1 })]), {
    description: 'A model, or several in order of preference.'
  }),
  n,
  size,
  style: Nullable(OneOf(['vivid', 'natural'])),
  response_format: responseFormat,
  ...output,
  user,
  ...guardsOption
})
/** As pipelines see it: absent fields are absent, never null. */
export type ImageRequest = WithoutNulls<Static<typeof ImageRequest>>

/** `model` of a form: a text, since forms cannot carry settings. */
const formModel = Nullable(Type.Union([
  ModelName, Type.Array(ModelName, { minItems: 1 })
]), { description: 'A model, or several in order of preference.' })

export const ImageEditRequest = Type.Object({
  image: Type.Array(FormFile('PNG, WebP or JPEG.'), {
    minItems: 1, maxItems: 16, description: 'Images to edit; several are combined.'
  }),
  prompt: Type.String({ minLength: 1, description: 'Description of the desired image.' }),
  mask: Type.Optional(FormFile('A PNG whose transparent parts say where the first image may change.')),
  model: formModel,
  n,
  size,
  response_format: responseFormat,
  input_fidelity: Nullable(OneOf(['high', 'low']), { description: 'Fidelity to the input images.' }),
  ...output,
  user,
  ...guardsOption
})
export type ImageEditRequest = Static<typeof ImageEditRequest>

export const ImageVariationRequest = Type.Object({
  image: FormFile('A square PNG.'),
  model: formModel,
  n,
  size,
  response_format: responseFormat,
  stream: output.stream,
  user,
  ...guardsOption
})
export type ImageVariationRequest = Static<typeof ImageVariationRequest>

const Count = Type.Integer({ minimum: 0 })

const TokenDetails = Type.Object({
  text_tokens: Type.Optional(Count), image_tokens: Type.Optional(Count)
})

export const ImageUsage = Type.Object({
  total_tokens: Count,
  input_tokens: Count,
  output_tokens: Count,
  input_tokens_details: Type.Optional(TokenDetails),
  output_tokens_details: Type.Optional(TokenDetails)
}, { description: 'Tokens as the provider counted them.' })
export type ImageUsage = Static<typeof ImageUsage>

/** Facts that a provider may report about its images. */
const about = {
  size: Type.Optional(Type.String({ description: 'Width and height in pixels: `1024x1024`.' })),
  quality: Type.Optional(Type.String()),
  background: Type.Optional(Type.String()),
  output_format: Type.Optional(Type.String()),
  usage: Type.Optional(ImageUsage)
}

export const ImageData = Type.Object({
  url: Type.Optional(Type.String()),
  b64_json: Type.Optional(Type.String({ description: 'The image in base64.' })),
  revised_prompt: Type.Optional(Type.String({ description: 'The prompt as the model rewrote it.' }))
})
export type ImageData = Static<typeof ImageData>

export const ImageAnswer = Type.Object({
  created: Type.Integer({ description: 'Unix time in seconds.' }),
  data: Type.Array(ImageData),
  ...about
})
export type ImageAnswer = Static<typeof ImageAnswer>

/** One message of an image stream: any number of partial images, then each complete one. */
export const ImageStreamEvent = Type.Object({
  type: OneOf([
    'image_generation.partial_image', 'image_generation.completed',
    'image_edit.partial_image', 'image_edit.completed'
  ]),
  b64_json: Type.Optional(Type.String()),
  url: Type.Optional(Type.String({ description: 'In place of `b64_json`, from models that do not stream.' })),
  revised_prompt: Type.Optional(Type.String()),
  partial_image_index: Type.Optional(Count),
  created_at: Type.Optional(Type.Integer({ description: 'Unix time in seconds.' })),
  ...about
})
export type ImageStreamEvent = Static<typeof ImageStreamEvent>
