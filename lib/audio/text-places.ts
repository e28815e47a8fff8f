/** Where a request for speech holds text. Its answer is sound. */

import { modelTexts } from '../chat/model-texts.ts'
import { PlaceTable, text, unseen } from '../json/place-table.ts'

export const speechRequestTexts = new PlaceTable({
  ...modelTexts,
  input: text,
  instructions: text,
  voice: unseen('names a voice'),
  response_format: unseen('one of a few words'),
  stream_format: unseen('one of a few words')
})
