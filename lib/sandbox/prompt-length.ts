import { isContainer } from '../json/type-guards.ts'
import { SandboxRefusal } from './sandbox-refusal.ts'
import { inputTokenLimit } from './sandbox-models.ts'
import type { ChatBody } from './chat-body.ts'

/** A longer text is refused before its tokens are counted, which would take 25 ms for a million. */
const maxCharacters = 2_000_000

/**
 * Refuses a prompt that is longer than any model accepts, as real providers do.
 *
 * @throws SandboxRefusal 400 `context_length_exceeded`
 */
export function checkPromptLength ({ messages, tools, functions, response_format: format }: ChatBody): void {
  if (charactersIn([messages, tools, functions, format]) > maxCharacters) throw promptTooLong()
}

function promptTooLong (): SandboxRefusal {
  return new SandboxRefusal(400, `The prompt is longer than the ${inputTokenLimit} tokens of this model.`, {
    code: 'context_length_exceeded', param: 'messages'
  })
}

/** Fields with media in base64, which is not text. */
const mediaFields = new Set(['url', 'data', 'file_data', 'image_url'])

/** Adds up the lengths of all strings and keys. */
function charactersIn (value: unknown): number {
  if (typeof value === 'string') return value.length
  if (!isContainer(value)) return 1
  let count = 2
  if (Array.isArray(value)) for (const member of value) count += charactersIn(member)
  else {
    for (const [key, member] of Object.entries(value)) {
      count += key.length + (typeof member === 'string' && mediaFields.has(key) ? 0 : charactersIn(member))
    }
  }
  return count
}
