/** POST /v1/ocr: a document in, the Markdown of its pages out. */

import { Type, type Static } from 'typebox'
import { ModelChoice } from './chat.ts'
import { Nullable } from './nullable.ts'

export const OcrRequest = Type.Object({
  model: Nullable(Type.Union([ModelChoice, Type.Array(ModelChoice, { minItems: 1 })]), {
    default: 'mistral-ocr-latest', description: 'A model, or several in order of preference.'
  }),
  document: Type.Object({
    type: Nullable(Type.Literal('document_url'), { default: 'document_url' }),
    document_url: Type.String({
      description: 'A PDF, PNG, JPEG or WebP: its https address, or the file itself as a `data:` URL in base64.'
    })
  })
})
export type OcrRequest = Static<typeof OcrRequest>

export const OcrAnswer = Type.Object({
  pages: Type.Array(Type.Object({
    index: Type.Integer({ description: 'From 0, without gaps.' }),
    markdown: Type.String()
  })),
  model: Type.String({ description: 'The model that produced the answer.' })
})
export type OcrAnswer = Static<typeof OcrAnswer>
