import type { ProviderTraits } from '../core/provider-traits.ts'
import type { ChatInput } from './input.ts'

/**
 * Returns the request with the wanted form of its answer in the field of a provider that has one of its own.
 */
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
