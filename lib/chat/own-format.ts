import type { ProviderTraits } from '../core/provider-traits.ts'
import type { ChatInput } from './input.ts'

/** Moves the requested response format to the provider's own field, if it has one. */
export function withOwnFormat (request: ChatInput, { answerFormat }: ProviderTraits): ChatInput {
  const { response_format: format, ...others } = request
  if (format === undefined || answerFormat !== 'generation_config') return request
  if (format.type === 'text') return others
  const schema = format.type === 'json_schema' ? format.json_schema.schema : undefined
  return {
    ...others,
    generation_config: {
      responseMimeType: 'application/json',
      ...schema != null && { responseJsonSchema: schema }
    }
  }
}
