/** Chat completions as a dialect of callers. */

import { ChatRequest } from '../../../schemas/chat.ts'
import { asTextAnswer } from '../../chat/as-text-answer.ts'
import { withoutMarks } from '../../chat/cache-marks.ts'
import { encodeChunks } from './encode.ts'
import { chatInput, chatSizes } from './input.ts'
import { toCompletion } from './complete.ts'
import { replaceChatTexts } from './replace-texts.ts'
import { chatPrintedTexts } from './text-places.ts'
import { fitSystemMessages } from '../system-messages.ts'
import type { Dialect } from '../dialect.ts'

export const chatCompletions: Dialect<typeof ChatRequest> = {
  schema: ChatRequest,
  sizes: chatSizes,
  input: chatInput,
  replaceTexts: replaceChatTexts,
  asTextAnswer,
  fit: (request, { provider }) => {
    const messages = fitSystemMessages(request.messages, provider)
    const fitted = messages === request.messages ? request : { ...request, messages }
    return provider.cacheMarks === undefined ? withoutMarks(fitted) : fitted
  },
  encode: encodeChunks,
  complete: ({ call }, batches) => {
    const usageCost = call.options?.usageCost
    return toCompletion(batches, usageCost && (() => usageCost(call)))
  },
  printedTexts: chatPrintedTexts
}
