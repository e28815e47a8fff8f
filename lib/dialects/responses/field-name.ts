import { renamedPath } from '../../chat/caller-place.ts'
import { holdsBytes } from '../../net/written-address.ts'
import { property } from '../../json/type-guards.ts'

/** Beginnings of paths within parts, calls, results and tools, with those of this API. */
const beginnings = [
  ['.image_url.url', '.image_url'],
  ['.file.', '.'],
  ['.function.', '.'],
  ['.tool_call_id', '.call_id'],
  ['.id', '.call_id']
] as const

/** Fields of both formats. */
const sharedFields = /^\.(?:content|type|role|text|name)$/

/** Returns the path that a field of a message, part, call or tool has in this API; empty without one. */
export function responsesFieldName (path: string, of: object): string {
  if (path === '.content' && property(of, 'role') === 'tool') return '.output'
  if (path === '.file.file_data' && isAddress(property(property(of, 'file'), 'file_data'))) return '.file_url'
  return renamedPath(path, beginnings, sharedFields)
}

function isAddress (data: unknown): boolean {
  return typeof data === 'string' && !holdsBytes(data)
}
