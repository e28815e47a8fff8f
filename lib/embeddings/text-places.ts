/** Where a request for embeddings holds text. Its answer has none. */

import { modelTexts } from '../chat/model-texts.ts'
import { PlaceTable, text } from '../json/place-table.ts'

export const embeddingsRequestTexts = new PlaceTable({
  ...modelTexts,
  input: text,
  'input[]': text,
  user: text,
  'tags.**': text
})
