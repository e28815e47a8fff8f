/**
 * Fields that the gateway adds to a `ChatInput` or `TextInput`. Callers must not send them: request bodies
 * may contain unknown fields.
 */

import type { ChatInput, TextInput } from './input.ts'
import type { ChatRequest } from '../../schemas/chat.ts'

export const addedFields = [
  'originalInput',
  'callerNames',
  'asWritten',
  'toolApproval',
  'showsThinking',
  'reasoningSummary',
  'max_tool_calls',
  'text'
] as const satisfies ReadonlyArray<Added>

type Added = Exclude<keyof ChatInput | keyof TextInput, keyof ChatRequest>
/** Fails to compile if one is missing. */
type Missing = Exclude<Added, typeof addedFields[number]>
const all: ReadonlySet<string> = new Set(addedFields satisfies Missing extends never ? unknown : never)

export function isAddedField (name: string): boolean {
  return all.has(name)
}

/** Returns the request without these fields: a copy if it has any. */
export function withoutAddedFields<R extends object> (request: R): R {
  if (addedFields.every(name => Reflect.get(request, name) === undefined)) return request
  // the remaining fields
  return Object.fromEntries(Object.entries(request).filter(([name]) => !all.has(name))) as R
}
