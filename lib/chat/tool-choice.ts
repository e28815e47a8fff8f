/** Reads and changes the tool choice for the tool loop. */

import { property } from '../json/type-guards.ts'
import type { ToolChoice } from '../../schemas/tools.ts'
import type { ChatInput } from './input.ts'

/** Returns true if the model must not call tools. */
export function forbidsTools ({ tool_choice: choice }: ChatInput): boolean {
  return choice === 'none' || (typeof choice === 'object' && 'type' in choice && choice.type === 'none')
}

/** Looks up the names under which server tools are offered. */
export interface OfferedNames {
  /** Returns the offered name of a tool, optionally of a given server. */
  readonly of: (tool: string, server?: string) => string | undefined
  /** Returns the offered names of all tools of a server. */
  readonly all: (server: string) => readonly string[]
}

/**
 * Returns the choice with the offered names of server tools. An entry of `allowed_tools` that names only a
 * server stands for all its tools. If none of the allowed tools is offered, none may be called.
 */
export function namedToolChoice (choice: ToolChoice, offered: OfferedNames): ToolChoice {
  if (typeof choice === 'string') return choice
  if ('server_label' in choice) {
    const name = offered.of(choice.name, choice.server_label) ?? choice.name
    return { type: 'function', function: { name } }
  }
  switch (choice.type) {
    case 'function':
      return { ...choice, function: { name: offered.of(choice.function.name) ?? choice.function.name } }
    case 'tool':
      return { ...choice, name: offered.of(choice.name) ?? choice.name }
    case 'allowed_tools': {
      const { mode, tools } = choice.allowed_tools
      const named = tools.flatMap(tool => namedEntries(tool, offered))
      return named.length === 0 && tools.length > 0
        ? 'none'
        : { ...choice, allowed_tools: { mode, tools: named } }
    }
    default:
      return choice
  }
}

function namedEntries (tool: Record<string, unknown>, offered: OfferedNames): Array<Record<string, unknown>> {
  const { server_label: server, name } = tool
  if (tool['type'] !== 'mcp' || typeof server !== 'string') return [tool]
  const names = typeof name === 'string' ? [offered.of(name, server) ?? []].flat() : offered.all(server)
  return names.map(name => ({ type: 'function', function: { name } }))
}

/**
 * Returns the choice without tools that are missing, which a provider would refuse. A choice of one that is
 * missing leaves it to the model; if none of the allowed tools is there, none may be called.
 *
 * @param choice with offered names
 */
export function availableToolChoice (choice: ToolChoice, isThere: (name: string) => boolean): ToolChoice {
  if (typeof choice === 'string' || !('type' in choice)) return choice
  switch (choice.type) {
    case 'function':
      return isThere(choice.function.name) ? choice : 'auto'
    case 'tool':
      return isThere(choice.name) ? choice : 'auto'
    case 'allowed_tools': {
      const { mode, tools } = choice.allowed_tools
      const there = tools.filter(tool => isThere(String(allowedToolName(tool))))
      return there.length === 0 ? 'none' : { ...choice, allowed_tools: { mode, tools: there } }
    }
    default:
      return choice
  }
}

/** Returns the name in an entry of `allowed_tools`: of a function or a custom tool, in any API's format. */
export function allowedToolName (entry: Readonly<Record<string, unknown>>): unknown {
  return property(entry['function'] ?? entry['custom'], 'name') ?? entry['name']
}

/**
 * Returns the tool choice for the turns after the first: a model forced to call a tool in every turn would
 * never answer.
 */
export function relaxToolChoice (request: ChatInput): Partial<ChatInput> {
  const { tool_choice: choice, function_call: legacy, tool_config: config } = request
  return {
    ...choice !== undefined && { tool_choice: relaxed(choice) },
    ...legacy !== undefined && legacy !== 'none' && { function_call: 'auto' },
    ...config !== undefined && { tool_config: relaxedConfig(config) }
  }
}

function relaxed (choice: ToolChoice): ToolChoice {
  if (typeof choice === 'string') return choice === 'required' ? 'auto' : choice
  if (!('type' in choice)) return 'auto'
  switch (choice.type) {
    case 'function':
    case 'custom':
      return 'auto'
    case 'allowed_tools':
      return { ...choice, allowed_tools: { ...choice.allowed_tools, mode: 'auto' } }
    case 'any':
    case 'tool':
      return {
        type: 'auto',
        ...choice.disable_parallel_tool_use !== undefined && {
          disable_parallel_tool_use: choice.disable_parallel_tool_use
        }
      }
    default:
      return choice
  }
}

/** Relaxes Google's own tool config in both spellings; `ANY` forces a call. */
function relaxedConfig (config: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([name, value]) => {
    const isCalling = name === 'function_calling_config' || name === 'functionCallingConfig'
    const forces = isCalling && property(value, 'mode') === 'ANY'
    return [name, forces ? { mode: 'AUTO' } : value]
  }))
}
