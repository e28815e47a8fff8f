import { toolsOfItem } from './tools.ts'
import { tooLong } from '../../validation/too-long.ts'
import type { ResponsesRequest } from '../../../schemas/responses.ts'
import type { InputItem } from '../../../schemas/response-items.ts'
import type { ChatSizes } from '../dialect.ts'
import type { ValidCall } from '../../core/call.ts'

/**
 * Creates a check that returns the call unchanged if its lists are within the limits.
 *
 * @throws ValidationError with the list that is too long
 */
export function responsesSizes (
  { chatMessages, chatParts, chatTools }: ChatSizes
): (call: ValidCall<ResponsesRequest>) => ValidCall<ResponsesRequest> {
  return call => {
    const { input, tools = [] } = call.request
    if (Array.isArray(input)) checkItems(input)
    checkTools(['tools'], tools)
    return call
  }

  function checkItems (input: readonly InputItem[]): void {
    if (input.length > chatMessages) throw tooLong(['input'], input.length, chatMessages)
    let parts = 0
    for (const [index, item] of input.entries()) {
      for (const field of ['content', 'output', 'summary'] as const) {
        const list = (item as { readonly [field in typeof field]?: unknown })[field]
        if (!Array.isArray(list)) continue
        parts += list.length
        if (parts > chatParts) throw tooLong(['input', index, field], parts, chatParts)
      }
      checkTools(['input', index, 'tools'], toolsOfItem(item))
    }
  }

  /** Counts the tools of namespaces too. */
  function checkTools (path: ReadonlyArray<string | number>, tools: readonly object[]): void {
    let count = tools.length
    for (const tool of tools) if ('tools' in tool && Array.isArray(tool.tools)) count += tool.tools.length
    if (count > chatTools) throw tooLong(path, count, chatTools)
  }
}
