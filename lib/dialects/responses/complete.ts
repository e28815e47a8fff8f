/** The complete answer of Responses. */

import { PrintedJson } from '../../core/reply.ts'
import { responseForCaller, storedResponse } from './direct-answer.ts'
import { itemOptions, OutputItems } from './output-items.ts'
import { responseUsage, startedResponse } from './response-object.ts'
import type { ItemListener } from './output/open-item.ts'
import type { AnswerStart, ChatBatch } from '../dialect.ts'
import type { ResponsesContext } from './input.ts'
import type { ResponseObject } from '../../../schemas/responses.ts'

/**
 * Returns the response from all batches of an answer, and stores it if requested. A direct answer is passed
 * through.
 */
export function responseReply (start: AnswerStart<ResponsesContext>, batches: readonly ChatBatch[]): unknown {
  for (const { events } of batches) {
    for (const event of events) if (event.type === 'direct-answer') return directReply(start, event.json)
  }
  const response = toResponse(start, batches)
  return start.context.keep?.(response) ?? response
}

function directReply (
  start: AnswerStart<ResponsesContext>,
  json: string
): PrintedJson | Promise<PrintedJson> {
  const shown = responseForCaller(start, json)
  return start.context.keep === undefined
    ? new PrintedJson(shown)
    : storedResponse(start, json, shown).then(stored => new PrintedJson(stored))
}

/** Folds all batches into a response, with the items that a stream would have ended with. */
export function toResponse (
  start: AnswerStart<ResponsesContext>,
  batches: readonly ChatBatch[]
): ResponseObject {
  const items = new OutputItems(ignoreAll, itemOptions(start))
  for (const { events } of batches) for (const event of events) items.add(event)
  const { status, reason } = items.end()
  const cost = start.call.options?.usageCost?.(start.call)
  const { usage = cost?.usage } = items
  return {
    ...startedResponse(start),
    status,
    incomplete_details: reason === undefined ? null : { reason },
    completed_at: status === 'completed' ? Math.floor(Date.now() / 1000) : null,
    output: [...items.done],
    usage: usage === undefined ? null : responseUsage(usage, cost),
    ...items.toolLoopFields
  }
}

/** Ignores events of complete answers: only finished items count. */
const ignoreAll: ItemListener = { event: () => undefined, text: () => undefined }
