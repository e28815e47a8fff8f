/** Lists the gateway's models in the format of Anthropic's models API. */

import type { Model } from '../../../schemas/models.ts'
import type { MessagesModel, MessagesModelList } from '../../../schemas/messages-answer.ts'

const defaultLimit = 20
const maxLimit = 1000

/**
 * Returns one page of the list.
 *
 * @param query of the request: `limit`, and `after_id` or `before_id`, an id in the list
 */
export function modelPage (models: readonly Model[], query: string): MessagesModelList {
  const parameters = new URLSearchParams(query)
  const limit = Math.min(
    maxLimit,
    Math.max(1, Math.trunc(Number(parameters.get('limit') ?? defaultLimit)) || defaultLimit)
  )
  const [after, before] = [parameters.get('after_id'), parameters.get('before_id')].map(id =>
    models.findIndex(model => model.id === id)
  )
  const isBackwards = before !== undefined && before >= 0
  const rest = isBackwards ? models.slice(0, before) : models.slice((after ?? -1) + 1)
  const page = isBackwards ? rest.slice(-limit) : rest.slice(0, limit)
  return {
    data: page.map(modelInfo),
    has_more: rest.length > page.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null
  }
}

export function modelInfo ({
  id,
  display_name: name,
  description,
  created_at: createdAt,
  capabilities,
  provider_info: { status }
}: Model): MessagesModel {
  const supported = (value: boolean | null | undefined): { supported: boolean } | undefined =>
    typeof value === 'boolean' ? { supported: value } : undefined
  const [images, thinking, structured] = [
    capabilities.vision,
    capabilities.thinking,
    capabilities.structured_output
  ].map(supported)
  return {
    type: 'model',
    id,
    display_name: name ?? id,
    created_at: createdAt.includes('T') ? createdAt : `${createdAt}T00:00:00Z`,
    description: description ?? null,
    max_input_tokens: capabilities.input_token_limit ?? null,
    max_tokens: capabilities.output_token_limit ?? null,
    capabilities: {
      ...images !== undefined && { image_input: images },
      ...thinking !== undefined && { thinking },
      ...structured !== undefined && { structured_outputs: structured }
    },
    lifecycle: status === 'deprecated' ? 'deprecated' : 'active'
  }
}
