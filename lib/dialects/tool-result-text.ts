import type { UserPart } from '../../schemas/messages.ts'

/**
 * Returns the text of a tool's result: most providers take nothing else in one.
 *
 * @param shown gets the images and files of the result, which a message of the user shows behind the results;
 *   the text says so
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
