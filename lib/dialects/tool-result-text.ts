import type { UserPart } from '../../schemas/messages.ts'

/**
 * Returns a tool result as text, because most providers accept nothing else.
 *
 * @param shown receives the images and files of the result, which follow in a user message; the text mentions
 *   them
 */
export function toolResultText (id: string, parts: readonly UserPart[], shown: UserPart[]): string {
  let media = 0
  return parts.map(part => {
    if (part.type === 'text') return part.text
    const name = `${part.type === 'image_url' ? 'image' : 'file'} ${++media} of tool call ${id}`
    shown.push({ type: 'text', text: `The ${name}:` }, part)
    return `[${name}: in the next message]`
  }).join('\n')
}
