/** Reads and changes the tool choice of a request for the tool loop. */

import { property } from '../json/guards.ts'
import type { ToolChoice } from '../../schemas/tools.ts'
import type { ChatInput } from './input.ts'

/** Returns true when the model must not call any tool. */
export function forbidsTools ({ tool_choice: choice }: ChatInput): boolean {
  return choice === 'none' || (typeof choice === 'object' && 'type' in choice && choice.type === 'none')
}

/**
 * Returns the choice with a tool server's tool under the name it was offered by.
 *
 * @param offered finds that name, by the tool's own and perhaps its server's
 */
export function namedToolChoice (
  choice: ToolChoice, offered: (tool: string, server?: string) => string | undefined
): ToolChoice {
  if (typeof choice === 'string') return choice
  if ('server_label' in choice) {
    const name = offered(choice.name, choice.server_label) ?? choice.name
    return { type: 'function', function: { name } }
  }
  if (choice.type === 'function') {
    return { ...choice, function: { name: offered(choice.function.name) ?? choice.function.name } }
  }
  return choice.type === 'tool' ? { ...choice, name: offered(choice.name) ?? choice.name } : choice
}

/**
 * Returns the tool choice of the turns after the first: a model that is forced to call a tool, and is forced
 * again when it has the result, would never come to an answer.
 */
export function relaxedChoice (request: ChatInput): Partial<ChatInput> {
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
        ...choice.disable_parallel_tool_use !== undefined && { disable_parallel_tool_use: choice.disable_parallel_tool_use }
      }
    default:
      return choice
  }
}

/** Relaxes Google's own form of the choice, in both spellings; `ANY` forces a call. */
function relaxedConfig (config: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([name, value]) => {
    const isCalling = name === 'function_calling_config' || name === 'functionCallingConfig'
    const forces = isCalling && property(value, 'mode') === 'ANY'
    return [name, forces ? { mode: 'AUTO' } : value]
  }))
}
