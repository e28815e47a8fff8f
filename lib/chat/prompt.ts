/**
 * One conversation out of `messages`, `input`, `instructions`, `system`, `system_instruction`,
 * and one spelling out of each pair of aliases.
 */

import type { ValidCall } from '../call.ts'
import type { ChatRequest } from '../../schemas/chat.ts'
import type { Message } from '../../schemas/messages.ts'

type Alias =
  | 'messages' | 'input' | 'instructions' | 'system' | 'system_instruction'
  | 'stop_sequences' | 'auto_execute_tools' | 'cachedContent'

/**
 * A chat request after `resolvePrompt`: `messages` is the whole conversation, the system prompt
 * included; aliases are gone.
 */
export interface PromptedChat extends Omit<ChatRequest, Alias> {
  readonly messages: readonly Message[]
}

export type PromptedCall = ValidCall<PromptedChat>
