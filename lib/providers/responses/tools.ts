/** Tools and tool choice, in this API's flat format. */

import { fitFunction } from '../../chat/function-schema.ts'
import { objectOf } from '../../json/type-guards.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { Tool, ToolChoice } from '../../../schemas/tools.ts'
import type { ResponsesBody, WireTool } from './wire.ts'

/** Returns the tools and tool choice of a request; the choice only if there are tools. */
export function toolFields (
  request: ChatInput
): Pick<ResponsesBody, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  const {
    tools = [],
    tool_choice: choice,
    parallel_tool_calls: parallel,
    web_search_options: search
  } = request
  const offered = [...tools.map(wireTool), ...(search === undefined ? [] : [webSearch(search)])]
  if (offered.length === 0) return {}
  const isSerial =
    typeof choice === 'object' &&
    'disable_parallel_tool_use' in choice &&
    choice.disable_parallel_tool_use === true
  return {
    tools: offered,
    ...choice !== undefined && { tool_choice: wireChoice(choice) },
    ...(parallel !== undefined || isSerial) && { parallel_tool_calls: parallel === true && !isSerial }
  }
}

function wireTool (tool: Tool): WireTool {
  if (tool.type === 'custom') {
    const { name, description, format } = tool.custom
    return {
      type: 'custom',
      name,
      ...typeof description === 'string' && { description },
      ...format !== undefined &&
        format !== null && {
          format: format.type === 'grammar' ? { type: 'grammar', ...format.grammar } : format
        }
    }
  }
  const { name, description, parameters, strict } = fitFunction(tool.function)
  return {
    type: 'function',
    name,
    ...typeof description === 'string' && { description },
    parameters:
      parameters === undefined || parameters === null ? { type: 'object', properties: {} } : parameters,
    strict: strict === true // the API's default is true
  }
}

function webSearch ({
  user_location: location,
  search_context_size: size
}: NonNullable<ChatInput['web_search_options']>): WireTool {
  const approximate = objectOf(objectOf(location)?.['approximate'])
  return {
    type: 'web_search',
    ...size !== undefined && size !== null && { search_context_size: size },
    ...approximate !== undefined && { user_location: { ...approximate, type: 'approximate' } }
  }
}

function wireChoice (choice: ToolChoice): unknown {
  if (typeof choice === 'string') return choice
  if (!('type' in choice)) return { type: 'function', name: choice.name }
  switch (choice.type) {
    case 'function': return { type: 'function', name: choice.function.name }
    case 'custom': return { type: 'custom', name: choice.custom.name }
    case 'tool': return { type: 'function', name: choice.name }
    case 'any': return 'required'
    case 'allowed_tools': {
      const { mode, tools } = choice.allowed_tools
      return { type: 'allowed_tools', mode, tools: tools.map(flatTool) }
    }
    default: return choice.type
  }
}

/** Flattens an allowed tool: `{ type, function: { name } }` becomes `{ type, name }`. */
function flatTool ({
  type = 'function',
  ...tool
}: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { type, ...(objectOf(tool[String(type)]) ?? tool) }
}
