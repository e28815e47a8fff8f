/**
 * Text completions as callers speak them. They have a pipeline of their own: neither tools nor deferral exist
 * here.
 */

import { completeText } from './complete.ts'
import { encodeText } from './encode.ts'
import { completionPrintedTexts } from './text-places.ts'
import type { AnswerDialect } from '../dialect.ts'

export const textCompletions: AnswerDialect = {
  encode: encodeText,
  complete: completeText,
  printedTexts: completionPrintedTexts
}
