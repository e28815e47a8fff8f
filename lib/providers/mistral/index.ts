/** Mistral: the chat-completions dialect and OCR. */

import { chatCompletions } from '../chat-completions/index.ts'
import { mistralOcr } from './ocr.ts'
import type { Adapters } from '../provider.ts'

export const mistralAdapters = { chat: chatCompletions, ocr: mistralOcr } satisfies Adapters
