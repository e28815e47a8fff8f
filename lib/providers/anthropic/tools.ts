/** Tools and tool choice; deprecated functions are converted to tools. */

import { GatewayError } from '../../core/errors.ts'
import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { fitFunction } from '../../chat/function-schema.ts'
import { allowedTools } from '../../chat/plain-tool-choice.ts'
import { cacheControlOf } from './cache-control.ts'
import { withLegalNames } from './property-names.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { FunctionDefinition } from '../../../schemas/tools.ts'
import type { ChatTraits } from './chat-traits.ts'
import type { WireTool, WireToolChoice } from './wire.ts'

export interface ToolFields {
  tools?: WireTool[]
  tool_choice?: WireToolChoice
}

const legalName = /^[a-zA-Z0-9_-]{1,128}$/

/**
 * Returns the tools and tool choice of a request; neither if there are no tools.
 *
 * @throws GatewayError `unsupported_parameter` for custom tools and for a choice that the model cannot
 *   enforce; `invalid_value` for a name the provider rejects
 */
export function toolFields (request: ChatInput, traits: ChatTraits): ToolFields {
  const choice = toolChoice(request)
  const tools = [
    ...allowedTools(
      [...requestTools(request), ...requestFunctions(request)],
      request.tool_choice,
      ({ name }) => name
    )
  ]
  if (tools.length === 0) return {}
  if (choice === undefined) return { tools }
  if (isForced(choice) && !traits.forcedTools) {
    throw new GatewayError('unsupported_parameter', {
      message: 'This model cannot be forced to use a tool.', param: choiceParam(request)
    })
  }
  return { tools, tool_choice: choice }
}

export function isForced (choice: WireToolChoice | undefined): boolean {
  return choice?.type === 'any' || choice?.type === 'tool'
}

/** Returns the field with which a caller sets the tool choice. */
export function choiceParam (request: ChatInput): string {
  return request.tool_choice === undefined && request.function_call !== undefined
    ? 'function_call'
    : 'tool_choice'
}

function requestTools ({ tools = [] }: ChatInput): WireTool[] {
  return tools.map((tool, index) => {
    if (tool.type === 'custom') {
      throw new GatewayError('unsupported_parameter', {
        message: 'Only function tools are supported.', param: `tools[${index}].type`
      })
    }
    // Validation keeps unknown keys: clients set `cache_control` on either object.
    const cache = cacheControlOf(tool) ?? cacheControlOf(tool.function)
    return {
      ...wireTool(tool.function, `tools[${index}].function.name`),
      ...cache !== undefined && { cache_control: cache }
    }
  })
}

function requestFunctions ({ tools = [], functions = [] }: ChatInput): WireTool[] {
  const taken = new Set(tools.map(tool => tool.type === 'custom' ? undefined : tool.function.name))
  return functions.flatMap((definition, index) => {
    return taken.has(definition.name) ? [] : [wireTool(definition, `functions[${index}].name`)]
  })
}

function wireTool (definition: FunctionDefinition, param: string): WireTool {
  const { name, description, parameters } = fitFunction(definition)
  if (!legalName.test(name)) {
    throw new GatewayError('invalid_value', {
      message: 'A tool name must be 1 to 128 letters, digits, underscores and hyphens.', param
    })
  }
  return {
    name,
    ...typeof description === 'string' && description !== '' && { description },
    input_schema: { ...withLegalNames({ properties: {}, ...parameters }), type: 'object' }
  }
}

function toolChoice (request: ChatInput): WireToolChoice | undefined {
  const { tool_choice: given, parallel_tool_calls: parallel } = request
  const legacy = offersFunctionsOnly(request)
  const choice = given === undefined && legacy ? functionChoice(request) : namedChoice(given)
  // The deprecated form has room for a single call.
  const single =
    parallel === false ||
    legacy ||
    (typeof given === 'object' &&
      'disable_parallel_tool_use' in given &&
      given.disable_parallel_tool_use === true)
  if (!single) return choice
  if (choice?.type === 'none') return choice
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true }
}

function namedChoice (choice: ChatInput['tool_choice']): WireToolChoice | undefined {
  if (choice === undefined) return undefined
  if (typeof choice === 'string') return choice === 'required' ? { type: 'any' } : { type: choice }
  if (!('type' in choice)) return { type: 'tool', name: choice.name }
  switch (choice.type) {
    case 'function': return { type: 'tool', name: choice.function.name }
    case 'tool': return { type: 'tool', name: choice.name }
    case 'allowed_tools': return { type: choice.allowed_tools.mode === 'required' ? 'any' : 'auto' }
    case 'custom':
      throw new GatewayError('unsupported_parameter', {
        message: 'Only function tools are supported.', param: 'tool_choice.type'
      })
    default: return { type: choice.type }
  }
}

function functionChoice ({ function_call: choice }: ChatInput): WireToolChoice | undefined {
  if (choice === undefined) return undefined
  if (typeof choice === 'object') return { type: 'tool', name: choice.name }
  return choice === 'none' || choice === 'auto' ? { type: choice } : { type: 'tool', name: choice }
}
