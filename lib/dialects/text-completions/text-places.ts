/**
 * Where requests of this dialect hold text. Its answers are made of events, whose texts are in
 * `guards/event-texts`.
 */

import { modelTexts } from '../../chat/model-texts.ts'
import { PlaceTable, text, unseen } from '../../json/place-table.ts'

export const completionRequestTexts = new PlaceTable({
  ...modelTexts, prompt: text, 'prompt[]': text, suffix: text, stop: text, 'stop[]': text, user: text,
  'cache.**': unseen('compared here, and not sent'),
  'fallbacks.**': unseen('names of models'),
  'tags.**': unseen('seen where the call has them')
})
