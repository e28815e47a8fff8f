/**
 * Adds the lists that every text part of OpenAI has and that other servers of its API leave out: clients read
 * them without asking whether they are there. Texts that have them stay as they are.
 */

import { colon, isSpace } from '../../json/characters.ts'
import { isObject } from '../../json/guards.ts'

/** Events of a text part that have one of its lists as a field of their own. */
const partEvents: ReadonlySet<string | undefined> = new Set([
  'response.output_text.delta',
  'response.output_text.done'
])

/** Completes the text parts in an event. */
export function completeEvent (name: string | undefined, json: string): string {
  if (partEvents.has(name)) {
    return countNames(json, '"logprobs"') > 0 ? json : json.replace('{', '{"logprobs":[],')
  }
  return name?.endsWith('.delta') === true ? json : completeParts(json)
}

/** Completes the text parts in a response, an item or an event. */
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
      // a body that was parsed with a bound
      isObject(value) && value['type'] === 'output_text'
        ? { ...value, annotations: value['annotations'] ?? [], logprobs: value['logprobs'] ?? [] }
        : value
    )
  )
}

/** Counts a text in quotes; inside of a string of JSON its second quote would be escaped. */
function count (json: string, quoted: string): number {
  let found = 0
  for (let at = json.indexOf(quoted); at !== -1; at = json.indexOf(quoted, at + quoted.length)) found++
  return found
}

/** Counts a text in quotes where it is a name: a value has no colon behind it. */
function countNames (json: string, quoted: string): number {
  let found = 0
  for (let at = json.indexOf(quoted); at !== -1; at = json.indexOf(quoted, at + quoted.length)) {
    let next = at + quoted.length
    while (isSpace(json.charCodeAt(next))) next++
    if (json.charCodeAt(next) === colon) found++
  }
  return found
}
