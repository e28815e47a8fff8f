import type { ChatInput } from './input.ts'

/** Returns true if the caller wants to see the thinking of the model. */
export function showsThinking (
  { showsThinking, thinking }: Pick<ChatInput, 'showsThinking' | 'thinking'>
): boolean {
  if (showsThinking === true) return true
  return thinking !== undefined && thinking.type !== 'disabled' && thinking.display !== 'omitted'
}
