/**
 * Adds the lists that OpenAI includes in every text part and other servers omit, because clients read them
 * unconditionally. Complete parts stay unchanged.
 */

import { colon, isSpace } from '../../json/characters.ts'
import { isObject } from '../../json/type-guards.ts'

/** Text part events that contain one of the lists themselves. */
const partEvents: ReadonlySet<string | undefined> = new Set([
  'response.output_text.delta',
  'response.output_text.done'
])

/** Completes the text parts of an event. */
export function completeEvent (name: string | undefined, json: string): string {
  if (partEvents.has(name)) {
    return countNames(json, '"logprobs"') > 0 ? json : json.replace('{', '{"logprobs":[],')
  }
  return name?.endsWith('.delta') === true ? json : completeParts(json)
}

/** Completes the text parts of a response, an item or an event. */
export function completeParts (json: string): string {
  const parts = count(json, '"output_text"')
  if (
    parts === 0 ||
    (countNames(json, '"annotations"') >= parts && countNames(json, '"logprobs"') >= parts)
  ) {
    return json
  }
  return JSON.stringify(
    JSON.parse(json, (_, value: unknown) =>
      // the body was parsed within limits
      isObject(value) && value['type'] === 'output_text'
        ? { ...value, annotations: value['annotations'] ?? [], logprobs: value['logprobs'] ?? [] }
        : value
    )
  )
}

/** Counts a quoted string; inside a JSON string its closing quote would be escaped. */
function count (json: string, quoted: string): number {
  let found = 0
  for (let at = json.indexOf(quoted); at !== -1; at = json.indexOf(quoted, at + quoted.length)) found++
  return found
}

/** Counts a quoted string where it is a name: only names are followed by a colon. */
function countNames (json: string, quoted: string): number {
  let found = 0
  for (let at = json.indexOf(quoted); at !== -1; at = json.indexOf(quoted, at + quoted.length)) {
    let next = at + quoted.length
    while (isSpace(json.charCodeAt(next))) next++
    if (json.charCodeAt(next) === colon) found++
  }
  return found
}
