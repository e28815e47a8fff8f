/** Text completions as a caller dialect, with a separate pipeline: there are no tools and no deferral. */

import { completeText } from './complete.ts'
import { encodeText } from './encode.ts'
import { completionPrintedTexts } from './text-places.ts'
import type { AnswerDialect } from '../dialect.ts'

export const textCompletions: AnswerDialect = {
  encode: encodeText,
  complete: completeText,
  printedTexts: completionPrintedTexts
}
