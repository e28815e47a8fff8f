/**
 * Answers of providers that speak this dialect: the provider's text, with the names that the caller knows.
 */

import { costFields } from '../../core/usage.ts'
import { printedFields, readObjectText, replaceFields } from '../../json/object-text.ts'
import { startedResponse } from './response-object.ts'
import { completeParts } from './text-parts.ts'
import { ResponseObject } from '../../../schemas/responses.ts'
import type { AnswerStart } from '../dialect.ts'
import type { ResponsesContext } from './input.ts'

type Start = AnswerStart<ResponsesContext>

/** Returns the text of a response as the caller gets it. */
export function shownResponse (start: Start, response: string): string {
  return withFields(start, response, shownFields(start))
}

/** Returns the text of a complete answer as the caller gets it. */
export function responseForCaller (start: Start, json: string): string {
  return shownResponse(start, completeParts(json))
}

/**
 * Stores a response, if enabled, before its end is sent.
 *
 * @returns its text as the caller gets it
 */
export async function storedResponse (
  start: Start,
  text: string,
  shown = responseForCaller(start, text)
): Promise<string> {
  const {
    route,
    context: { keep, direct }
  } = start
  if (keep === undefined) return shown
  // in the format of the provider's API
  const { id: responseId, store: isKept } = JSON.parse(text) as ResponseObject
  const origin = isKept
    ? { providerId: route.providerId, account: direct.accounts.get(route)?.() ?? '', responseId }
    : undefined
  const { store } = await keep(JSON.parse(shown) as ResponseObject, origin) // in the same format
  return store ? shown : withFields(start, shown, { store })
}

/** A background response keeps the id it was queued with. */
function shownFields ({ head, context: { request, queued } }: Start): Partial<ResponseObject> {
  const { previous_response_id: previous } = request
  return {
    model: head.model,
    ...previous !== undefined && { previous_response_id: previous },
    ...queued !== undefined && { id: queued.id, background: true, created_at: queued.created_at }
  }
}

/** Replaces fields, and adds those that clients expect in every response but some servers omit. */
function withFields (start: Start, text: string, fields: Partial<ResponseObject>): string {
  const outline = readObjectText(text)
  if (outline === undefined) return text
  const values = new Map<string, string>()
  for (const [name, value] of Object.entries(fields)) values.set(name, JSON.stringify(value))
  const missing = ResponseObject.required.filter(name => !outline.fields.has(name) && !values.has(name))
  if (missing.length > 0) {
    const started = startedResponse(start)
    for (const name of missing) values.set(name, JSON.stringify(started[name]))
  }
  const usage = outline.fields.get('usage')
  if (usage !== undefined) {
    values.set('usage', completeUsage(start.call, text.slice(usage.start, usage.end)))
  }
  return replaceFields(text, outline, values)
}

/** Defaults of unreported details. */
const usageDetails = Object.entries({
  input_tokens_details: '{"cached_tokens":0,"cache_write_tokens":0}',
  output_tokens_details: '{"reasoning_tokens":0}'
})

/** @param usage JSON of an object or `null` */
function completeUsage (call: Start['call'], usage: string): string {
  const missing = new Map([
    ...usageDetails.filter(([name]) => !usage.includes(`"${name}"`)),
    ...printedFields(costFields(call.options?.usageCost?.(call)))
  ])
  const outline = missing.size === 0 ? undefined : readObjectText(usage)
  return outline === undefined ? usage : replaceFields(usage, outline, missing)
}
