/** Answers of providers that speak this dialect: their own text, but for what callers know by other names here. */

import { readObjectText, replaceFields } from '../../json/object-text.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'
import type { AnswerStart } from '../dialect.ts'
import type { ResponsesContext } from './input.ts'

type Start = Pick<AnswerStart<ResponsesContext>, 'head' | 'route' | 'context'>

/** Returns the text of a response as its caller gets it. */
export function shownResponse (start: Start, response: string): string {
  return withFields(response, shownFields(start))
}

/** Stores a response before its end is sent, where responses are stored. @returns its text as the caller gets it */
export async function storedResponse (start: Start, text: string): Promise<string> {
  const { route, context: { keep, direct } } = start
  const shown = shownFields(start)
  if (keep === undefined) return withFields(text, shown)
  const response = JSON.parse(text) as ResponseObject // by the provider's account of its own API
  const origin = response.store ? { providerId: route.providerId, account: direct.accounts.get(route) ?? '', responseId: response.id } : undefined
  const { store } = await keep({ ...response, ...shown }, origin)
  return withFields(text, store === response.store ? shown : { ...shown, store })
}

/** A response in the background has the id that it was queued with. */
function shownFields ({ head, context: { request, queued } }: Start): Partial<ResponseObject> {
  const { previous_response_id: previous } = request
  return {
    model: head.model,
    ...previous !== undefined && { previous_response_id: previous },
    ...queued !== undefined && { id: queued.id, background: true, created_at: queued.created_at }
  }
}

function withFields (text: string, fields: Partial<ResponseObject>): string {
  const outline = readObjectText(text)
  return outline === undefined ? text : replaceFields(text, outline, new Map(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)])))
}
