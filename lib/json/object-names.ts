/** Ids that identify part of the request or its caller, not an object in a provider's account. */
const ownIds: ReadonlySet<string> = new Set([
  'call_id',
  'tool_call_id',
  'tool_use_id',
  'tool_id',
  'caller_id',
  'approval_request_id',
  'item_id',
  'previous_response_id',
  'previous_message_id',
  'tab_id',
  'download_id',
  'user_id'
])

/**
 * Returns true for the name of a field that may hold the id of an object in a provider's account, such as
 * `file_id` or `vector_store_ids`. The exceptions are listed, because providers add kinds of objects.
 */
export function isObjectName (name: string): boolean {
  return /_ids?$/.test(name) && !ownIds.has(name)
}
