/** POST /v1/ocr: a document in, the Markdown of its pages out. */

import { Type, type Static } from 'typebox'
import { guardsOption } from './call-options.ts'
import { ModelChoice } from './chat.ts'
import { Nullable } from './nullable.ts'

const url = Type.String({
  description: 'A PDF, PNG, JPEG or WebP: its https address, or the file itself as a `data:` URL in base64.'
})

const AddressedDocument = Type.Object(
  {
    // A tag of the union, which `Nullable` would hide.
    type: Type.Optional(
      Type.Unsafe<'document_url' | null>({ enum: ['document_url', null], default: 'document_url' })
    ),
    document_url: url
  },
  { description: 'A document or an image.' }
)

const AddressedImage = Type.Object({
  type: Type.Literal('image_url'),
  image_url: Type.Union([url, Type.Object({ url })])
}, { description: 'An image, as Mistral\'s own API has it.' })

export const OcrRequest = Type.Object({
  model: Nullable(Type.Union([ModelChoice, Type.Array(ModelChoice, { minItems: 1 })]), {
    default: 'mistral-ocr-latest', description: 'A model, or several in order of preference.'
  }),
  document: Type.Union([AddressedDocument, AddressedImage]),
  pages: Nullable(
    Type.Union([
      Type.String({ maxLength: 10_000 }),
      Type.Array(Type.Integer({ minimum: 0, maximum: 99_999 }), { maxItems: 1000 })
    ]),
    { description: 'The pages to read, from 0: a list, or a text such as `0,2-4`. Default: all.' }
  ),
  image_limit: Nullable(Type.Integer({ minimum: 0 }), {
    description: 'Maximum images that the Markdown mentions.'
  }),
  image_min_size: Nullable(Type.Integer({ minimum: 0 }), {
    description: 'Minimum width and height, in pixels, of images that the Markdown mentions.'
  }),
  ...guardsOption
})
export type OcrRequest = Static<typeof OcrRequest>

export const OcrAnswer = Type.Object({
  pages: Type.Array(Type.Object({
    index: Type.Integer({ description: 'From 0; without gaps unless the request selects pages.' }),
    markdown: Type.String()
  })),
  model: Type.String({ description: 'The model that produced the answer.' })
})
export type OcrAnswer = Static<typeof OcrAnswer>
