/** The defaults that come with a model, `{ model, settings }`, and what it is chosen by. */

import { ModelSettings, type ChatRequest } from '../../schemas/chat.ts'
import { plainToolChoice } from './plain-tool-choice.ts'
import type { RequestedAttributes } from '../core/model.ts'
import type { ToolChoice } from '../../schemas/tools.ts'

const known = new Set(Object.keys(ModelSettings.properties))

/**
 * The settings in the form of a resolved request. What is not a setting is left out: the model,
 * the messages and the way of sending are the request's alone, and attributes only choose the model.
 *
 * @param given passed the schema
 */
export function chatSettings (given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(given).filter(([name, value]) => known.has(name) && value !== null)
  const { stop_sequences: stop, tool_choice: choice, attributes: _, ...settings } = Object.fromEntries(entries)
  if (stop !== undefined) settings['stop'] ??= stop
  if (choice !== undefined) {
    const plain = plainToolChoice(choice as ToolChoice) // by the schema
    settings['tool_choice'] = plain.choice
    if (plain.parallel === false) settings['parallel_tool_calls'] = false
  }
  return settings
}

/** What a request says about attributes of models. */
export function chatAttributes (
  { model_attributes: models, agent_attributes: agent }: Pick<ChatRequest, 'model_attributes' | 'agent_attributes'>
): RequestedAttributes {
  return { models, agent }
}
