/**
 * Normalises the three formats of tool choice: OpenAI's, Anthropic's (`{ type: 'any',
 * disable_parallel_tool_use: true }`) and that for a tool server (`{ server_label, name }`).
 */

import { GatewayError } from '../core/errors.ts'
import { allowedToolName } from './tool-choice.ts'
import type { ToolChoice } from '../../schemas/tools.ts'

/** The choices of the chat-completions dialect. */
export interface PlainChoice {
  readonly choice: ToolChoice
  /** Set if the choice limits a turn to one tool call. */
  readonly parallel?: false
}

/** Returns the choice in OpenAI's format; the same object if it already is. */
export function plainToolChoice (given: ToolChoice): PlainChoice {
  if (typeof given === 'string') return { choice: given }
  if ('server_label' in given) return { choice: named(given.name) }
  switch (given.type) {
    case 'function':
    case 'custom':
    case 'allowed_tools':
      return { choice: given }
    default: {
      const single = given.disable_parallel_tool_use === true && given.type !== 'none'
      return { choice: choiceOf(given), ...single && { parallel: false } }
    }
  }
}

/**
 * Returns the tools that a choice allows, for providers that cannot restrict the choice: they are offered
 * only these. Returns the same list if nothing is restricted.
 *
 * @throws GatewayError `invalid_value` if the choice allows none of them
 */
export function allowedTools<T> (
  tools: readonly T[],
  choice: ToolChoice | undefined,
  nameOf: (tool: T) => string
): readonly T[] {
  if (typeof choice !== 'object' || !('allowed_tools' in choice) || tools.length === 0) return tools
  const names = new Set(choice.allowed_tools.tools.map(allowedToolName))
  const allowed = tools.filter(tool => names.has(nameOf(tool)))
  if (allowed.length > 0) return allowed
  throw new GatewayError('invalid_value', {
    message: 'None of the allowed tools is among `tools`.', param: 'tool_choice.allowed_tools.tools'
  })
}

type AnthropicChoice = Extract<ToolChoice, { type: 'auto' | 'any' | 'none' | 'tool' }>

function choiceOf (given: AnthropicChoice): ToolChoice {
  switch (given.type) {
    case 'tool': return named(given.name)
    case 'any': return 'required'
    default: return given.type
  }
}

function named (name: string): ToolChoice {
  return { type: 'function', function: { name } }
}
