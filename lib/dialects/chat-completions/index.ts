/** Chat completions as a dialect of callers. */

import { ChatRequest } from '../../../schemas/chat.ts'
import { asTextAnswer } from '../../chat/as-text-answer.ts'
import { encodeChunks } from './encode.ts'
import { fitRequest } from './fit.ts'
import { chatInput, chatSizes } from './input.ts'
import { toCompletion } from './complete.ts'
import { replaceChatTexts } from './replace-texts.ts'
import { chatPrintedTexts } from './text-places.ts'
import type { Dialect } from '../dialect.ts'

export const chatCompletions: Dialect<typeof ChatRequest> = {
  schema: ChatRequest,
  sizes: chatSizes,
  input: chatInput,
  replaceTexts: replaceChatTexts,
  asTextAnswer,
  fit: fitRequest,
  encode: encodeChunks,
  complete: ({ call }, batches) => {
    const usageCost = call.options?.usageCost
    return toCompletion(batches, usageCost && (() => usageCost(call)))
  },
  printedTexts: chatPrintedTexts
}
