import { renamedPath } from '../../chat/caller-place.ts'

/** Beginnings of paths within parts, calls, results and tools, with those of this API. */
const beginnings = [
  ['.image_url.url', '.source'],
  ['.file.file_data', '.source'],
  ['.function.arguments', '.input'],
  ['.function.parameters', '.input_schema'],
  ['.function.', '.'],
  ['.tool_call_id', '.tool_use_id']
] as const

/** Fields of both formats. */
const sharedFields = /^\.(?:content|type|role|text|name|id)$/

/** Returns a location as this API writes it: `messages.0.content.1`. */
export function dotted (location: string): string {
  return location.replace(/\[(\d{1,9})\]/g, '.$1')
}

/** Returns the path that a field of a message, part, call or tool has in this API; empty without one. */
export function messagesFieldName (path: string): string {
  return renamedPath(path, beginnings, sharedFields)
}
