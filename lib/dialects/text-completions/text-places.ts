/**
 * Where requests of this dialect hold text. In answers, guards read the text from events
 * (`guards/event-texts`); only placeholders are restored after printing.
 */

import { modelTexts } from '../../chat/model-texts.ts'
import { objectOf } from '../../json/type-guards.ts'
import { PlaceTable, pieceOf, text, unseen } from '../../json/place-table.ts'
import type { DirectTexts } from '../dialect.ts'

export const completionRequestTexts = new PlaceTable({
  ...modelTexts, prompt: text, 'prompt[]': text, suffix: text, stop: text, 'stop[]': text, user: text,
  'cache.**': unseen('compared here, and not sent'),
  'fallbacks.**': unseen('names of models'),
  'tags.**': text
})

export const completionPrintedTexts: DirectTexts = {
  answer: new PlaceTable({ '**': text }),
  frames: new PlaceTable({ '**': text, 'choices[].text': pieceOf(text) }),
  textOf: (_, { choices }) => {
    const { index, finish_reason: finish } = objectOf(Array.isArray(choices) ? choices[0] : {}) ?? {}
    const key = `${String(index)};`
    return typeof finish === 'string' ? { key: '', ends: key } : { key }
  }
}
