/** Mistral: the chat-completions dialect and OCR. */

import { chatCompletions } from '../chat-completions/index.ts'
import { chatRequest } from './chat-request.ts'
import { mistralOcr } from './ocr.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Adapter, Adapters } from '../provider.ts'

const mistralChat: Adapter<ChatInput, ChatEvent> = { ...chatCompletions, request: chatRequest }

export const mistralAdapters = { chat: mistralChat, ocr: mistralOcr } satisfies Adapters
