/** Converts the tools of a request to functions, which any provider accepts. */

import { textOfValue } from '../../json/type-guards.ts'
import { GatewayError } from '../../core/errors.ts'
import { clientTool } from './client-tools.ts'
import { dotted } from './field-name.ts'
import { shortToolName } from './tool-name.ts'
import type { Refuse } from './content.ts'
import type { FunctionTool, ToolChoice } from '../../../schemas/tools.ts'
import type { ToolChanges } from './tool-changes.ts'
import type {
  CountTokensRequest,
  MessagesListedTool as GivenTool,
  MessagesTool
} from '../../../schemas/messages-request.ts'

export interface Tools {
  readonly tools: readonly FunctionTool[]
  /** The caller's tool names, by shortened name. */
  readonly names: ReadonlyMap<string, string>
}

/**
 * Returns the tools that the model may see.
 *
 * @param changes from the messages: deferred tools are only visible once found, removed ones never
 * @param refuse called for tools that only Anthropic has: an answer without them would not be what was
 *   requested
 * @param places receives where the tools came from
 */
export function toolsOf (
  given: readonly GivenTool[] = [],
  { found, removed, added }: ToolChanges,
  refuse: Refuse,
  places: Map<object, string> = new Map()
): Tools {
  const tools: FunctionTool[] = []
  const names = new Map<string, string>()
  const offer = (tool: GivenTool, place: string): void => {
    const own = typeof tool.name === 'string' ? tool.name : ''
    if (removed.has(own) || (tool.defer_loading === true && !found.has(own))) return
    const definition = functionOf(tool)
    if (definition === undefined) {
      refuse(unsupportedTool(textOfValue(tool.type), place))
      return
    }
    const { name } = definition.function
    const short = shortToolName(name)
    if (short !== name) names.set(short, name)
    const offered =
      short === name ? definition : { ...definition, function: { ...definition.function, name: short } }
    places.set(offered, place)
    tools.push(offered)
  }
  for (const [index, tool] of given.entries()) {
    if (typeof tool.name === 'string' && added.has(tool.name)) continue // redefined by a message
    offer(tool, `tools[${index}]`)
  }
  for (const tool of added.values()) offer(tool, 'messages')
  return { tools, names }
}

function functionOf (tool: GivenTool): FunctionTool | undefined {
  if (!isCustom(tool)) {
    const definition = clientTool(tool.type, tool.name)
    return definition && { type: 'function', function: definition }
  }
  const {
    name,
    description,
    input_schema: { $schema: _, ...parameters },
    strict,
    cache_control: mark
  }: MessagesTool & { input_schema: { $schema?: unknown } } = tool
  return {
    type: 'function',
    function: {
      name,
      ...typeof description === 'string' && { description },
      parameters,
      ...typeof strict === 'boolean' && { strict }
    },
    // Not a field of the shared format, but passed on to providers with such a cache.
    ...mark !== undefined && mark !== null && { cache_control: mark }
  }
}

function isCustom (tool: GivenTool): tool is MessagesTool {
  return tool.type === undefined || tool.type === null || tool.type === 'custom'
}

/** Clients know this message from Anthropic, and do without the tool if they can. */
function unsupportedTool (type: string, place: string): GatewayError {
  return new GatewayError('unsupported_parameter', {
    message: `${dotted(place)}: Input tag '${type.slice(0, 100)}' found using 'type' is not supported by this model`,
    param: place.endsWith(']') ? `${place}.type` : place
  })
}

/** Returns the choice in the shared format, and whether a turn may call several tools. */
export function toolChoiceOf (choice: CountTokensRequest['tool_choice']): {
  readonly choice?: ToolChoice
  readonly parallel?: false
} {
  if (choice === undefined) return {}
  const single = choice.disable_parallel_tool_use === true && choice.type !== 'none'
  return { choice: plain(choice), ...single && { parallel: false } }
}

function plain (choice: NonNullable<CountTokensRequest['tool_choice']>): ToolChoice {
  switch (choice.type) {
    case 'tool': return { type: 'function', function: { name: shortToolName(choice.name) } }
    case 'any': return 'required'
    default: return choice.type
  }
}
