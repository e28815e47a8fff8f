/** Defaults attached to a model, `{ model, settings }`, and the attributes that select it. */

import { GatewayError } from '../core/errors.ts'
import { ChatRequest, ModelSettings } from '../../schemas/chat.ts'
import { plainToolChoice } from './plain-tool-choice.ts'
import { objectOf } from '../json/type-guards.ts'
import type { RequestedAttributes } from '../core/model.ts'
import type { ToolChoice } from '../../schemas/tools.ts'

const settingNames = new Set(Object.keys(ModelSettings.properties))
/** Fields that apply to a call whichever model answers. */
const callFields = new Set(Object.keys(ChatRequest.properties).filter(name => !settingNames.has(name)))

/**
 * Returns the settings as fields of a `ChatInput`, without attributes, which only select the model, and
 * without unknown fields.
 *
 * @param given validated settings
 * @throws GatewayError `unsupported_parameter` for a field that applies to the entire call; `invalid_value`
 *   for `top_logprobs` without `logprobs`
 */
export function chatSettings (given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(given).filter(([, value]) => value !== null)
  for (const [name] of entries) if (callFields.has(name)) throw refused(name)
  const {
    stop_sequences: stop, tool_choice: choice, reasoning, attributes: _, ...settings
  } = Object.fromEntries(entries.filter(([name]) => settingNames.has(name)))
  if (settings['top_logprobs'] !== undefined && settings['logprobs'] !== true) {
    throw new GatewayError('invalid_value', {
      message: '`top_logprobs` in the settings of a model requires `logprobs` to be true there.',
      param: 'model.settings.top_logprobs'
    })
  }
  if (stop !== undefined) settings['stop'] ??= stop
  const effort = objectOf(reasoning)?.['effort'] ?? undefined
  if (effort !== undefined) settings['reasoning_effort'] ??= effort
  if (choice !== undefined) {
    const plain = plainToolChoice(choice as ToolChoice) // by the schema
    settings['tool_choice'] = plain.choice
    if (plain.parallel === false) settings['parallel_tool_calls'] = false
  }
  return settings
}

function refused (name: string): GatewayError {
  return new GatewayError('unsupported_parameter', {
    message: `\`${name}\` cannot be set per model. Send it at the top level, next to \`model\`.`,
    param: `model.settings.${name}`
  })
}

/** Returns the attributes named by a request. */
export function chatAttributes ({
  model_attributes: models,
  agent_attributes: agent
}: Pick<ChatRequest, 'model_attributes' | 'agent_attributes'>): RequestedAttributes {
  return { models, agent }
}
