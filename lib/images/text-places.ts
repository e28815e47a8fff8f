/** Where requests for images and their answers hold text. */

import { modelTexts } from '../chat/model-texts.ts'
import { readObjectText, replaceFields } from '../json/object-text.ts'
import { PlaceTable, text, unseen, type ReplaceText } from '../json/place-table.ts'
import type { ImageData, ImageEvent } from '../core/events.ts'

const word = unseen('one of a few words, or a size')

export const imageRequestTexts = new PlaceTable({
  ...modelTexts,
  prompt: text,
  user: text,
  size: word,
  style: word,
  quality: word,
  background: word,
  moderation: word,
  response_format: word,
  output_format: word
})

/**
 * Returns the event with its `revised_prompt` replaced; the same event if it has none, or nothing differs.
 */
export function replaceImageTexts (event: ImageEvent, replace: ReplaceText): ImageEvent {
  switch (event.type) {
    case 'image-answer': {
      const data = event.data.map(image => replaceIn(image, replace))
      return data.every((image, index) => image === event.data[index]) ? event : { ...event, data }
    }
    case 'image-partial':
    case 'image-end': {
      const json = replaceInText(event.json, replace)
      return json === event.json ? event : { ...event, json }
    }
    case 'usage': return event
    default: return event satisfies never
  }
}

const field = 'revised_prompt'
const image = 'b64_json'

const eventTexts = new PlaceTable({
  [field]: text,
  [image]: unseen('an image'),
  url: unseen('the address of an image'),
  type: word,
  size: word,
  quality: word,
  background: word,
  output_format: word
})

function replaceIn (image: ImageData, replace: ReplaceText): ImageData {
  const prompt = image[field]
  const other = prompt === undefined ? undefined : replace(prompt, text)
  return other === prompt || other === undefined ? image : { ...image, [field]: other }
}

/**
 * The line holds megabytes of an image, which are not parsed. If a field occurs twice, only the one that
 * parsers use is kept.
 */
function replaceInText (json: string, replace: ReplaceText): string {
  const outline = readObjectText(json)
  if (outline === undefined) return JSON.stringify(eventTexts.replace(JSON.parse(json), replace))
  const fields = [...outline.fields].filter(([name]) => name !== image)
  const event = Object.fromEntries(
    fields.map(([name, { start, end }]) => [name, JSON.parse(json.slice(start, end)) as unknown])
  )
  const other = eventTexts.replace(event, replace)
  if (other === event) return json
  return replaceFields(json, outline, new Map([[field, JSON.stringify(other[field])]]))
}
